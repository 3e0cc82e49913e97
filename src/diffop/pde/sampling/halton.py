"""Points of a Halton sequence, with random digits.

The n-th point of a Halton sequence has the coordinates x_j = 0.d₀d₁d₂… in base b_j, the j-th
prime, where n is …d₂d₁d₀ in that base. In high bases the first points lie on lines. So each digit
d_k of a coordinate becomes f d_k + s modulo b, with f uniform in 1, …, b − 1 and s in 0, …, b − 1.
Since b is prime, these maps take every pair of different digits to each such pair equally often, as
uniformly random permutations do. So each point is uniformly distributed. The variance of a mean
depends on pairs of points, so it is that of randomly permuted digits.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from ...scalars import plain
from ...streams import stream

_MOST = 6542
"""The products of this many primes fit into 32 bits."""


def halton(key: PRNGKeyArray, count: int, dim: int) -> Float[Array, "count dim"]:
    """Points of the unit cube from a Halton sequence with randomly permuted digits.

    Each point is uniformly distributed, so means over them are unbiased; the points of one call
    fill the cube evenly. Unlike the points of [`diffop.pde.sobol`][] they do so for any number of
    points, and the first points do not depend on how many there are. In more than some tens of
    coordinates Sobol points are more even. Equal keys give equal points. It works under `jax.jit`.

    Sources: Halton 1960; Matoušek 1998, "On the L2-discrepancy for anchored boxes", for digits that
    are permuted by random linear maps; Owen 2017, "A randomized Halton algorithm in R", for
    random permutations, whose variance they have.

    **Arguments:**

    - `key`: a key from `jax.random.key`; it determines the permutations.
    - `count`: how many points, at least 1.
    - `dim`: the dimension, from 1 to 6,542.

    **Returns:** an array of shape `(count, dim)`, of JAX's default float type, between 0 and 1.

    **Raises:** `ValueError` if `count` or `dim` is out of range.

    !!! example

        ```python
        import jax
        import diffop as do

        points = do.pde.halton(jax.random.key(0), 100, 6)  # (100, 6)
        ```
    """
    count, dim = plain(count), plain(dim)
    if not (1 <= count < 2**32 and 1 <= dim <= _MOST):
        raise ValueError(
            f"halton expects a count of at least 1 and a dim from 1 to {_MOST}, got count={count} "
            f"and dim={dim}."
        )
    bases = jnp.asarray(_primes()[:dim])
    kind = jnp.zeros(()).dtype
    inverse = 1 / bases.astype(kind)
    numbers = jnp.broadcast_to(jnp.arange(count, dtype=np.uint32)[:, None], (count, dim))

    def with_digit(k: Int[Array, ""], sums: tuple[Array, Array, Array]) -> tuple[Array, ...]:
        points, left, unit = sums
        digits = _permuted(stream(key, "digits", k), left % bases[None], bases)
        unit = unit * inverse
        return points + digits.astype(kind) * unit[None], left // bases[None], unit

    start = (jnp.zeros((count, dim), kind), numbers, jnp.ones((dim,), kind))
    digits = jnp.finfo(kind).nmant  # in the smallest base, which has the most digits
    points, _, unit = jax.lax.fori_loop(0, digits, with_digit, start)
    return jnp.minimum(points + unit[None] / 2, 1 - jnp.finfo(kind).epsneg)


def _permuted(
    key: PRNGKeyArray, digits: UInt32[Array, "count dim"], bases: UInt32[Array, " dim"]
) -> UInt32[Array, "count dim"]:
    """Digits permuted by a random linear map for each coordinate."""
    factor = jax.random.randint(stream(key, "factors of digits"), bases.shape, 1, bases, np.uint32)
    shift = jax.random.randint(stream(key, "shifts of digits"), bases.shape, 0, bases, np.uint32)
    return (factor[None] * digits + shift[None]) % bases[None]


@functools.cache
def _primes() -> UInt32[np.ndarray, " primes"]:
    """The primes below 2^16, by the sieve of Eratosthenes."""
    is_prime = np.ones(2**16, bool)
    is_prime[:2] = False
    for n in range(2, 2**8):
        is_prime[n * n :: n] = False
    return np.flatnonzero(is_prime).astype(np.uint32)

"""Points of a Sobol sequence, which fill the unit cube more evenly than independent points.

The n-th point of a Sobol sequence has the coordinates x_j = ⊕_k g_k v_{jk}: the exclusive or of
the direction numbers v_{jk} for which the binary digit g_k of the Gray code n ⊕ (n >> 1) is 1. The
direction numbers are scipy's (Joe and Kuo 2008). They are read off its sequence: the Gray code of
2^k has the digits k and k − 1, so the point number 2^k is v_k ⊕ v_{k−1}.

A random digital shift adds the same random number to all points, digit by digit (exclusive or).
This makes each point uniformly distributed and keeps their relative positions.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from ...scalars import plain

_DIGITS = 32


def sobol(key: PRNGKeyArray, count: int, dim: int) -> Float[Array, "count dim"]:
    """Points of the unit cube from a Sobol sequence with a random digital shift.

    Each point is uniformly distributed, so means over them are unbiased. The points of one call
    depend on each other and fill the cube evenly. So for smooth functions that depend mainly on few
    coordinates, means vary less than over independent points. Equal keys give equal points. It
    works under `jax.jit`: only the table of direction numbers is made outside, once for each
    dimension.

    Sources: Sobol 1967; Joe and Kuo 2008, "Constructing Sobol sequences with better two-dimensional
    projections"; L'Ecuyer and Lemieux 2002, "Recent advances in randomized quasi-Monte Carlo
    methods", for the shift.

    **Arguments:**

    - `key`: a key from `jax.random.key`; it determines the shift.
    - `count`: how many points, at least 1; powers of two give the most even points.
    - `dim`: the dimension, from 1 to 21,201.

    **Returns:** an array of shape `(count, dim)`, of JAX's default float type, between 0 and 1.

    **Raises:** `ValueError` if `count` or `dim` is out of range.

    !!! example

        ```python
        import jax
        import diffop as do

        points = do.pde.sobol(jax.random.key(0), 256, 10)  # (256, 10)
        ```
    """
    count, dim, largest = plain(count), plain(dim), _sobol().MAXDIM
    if not (1 <= count <= 2**_DIGITS and 1 <= dim <= largest):
        raise ValueError(
            f"sobol expects a count of at least 1 and a dim from 1 to {largest}, got count={count} "
            f"and dim={dim}."
        )
    number = jnp.arange(count, dtype=np.uint32)
    code = number ^ (number >> np.uint32(1))
    numbers = jnp.asarray(_direction_numbers(dim, (count - 1).bit_length()))

    def with_digit(k: Int[Array, ""], digits: UInt32[Array, "count dim"]) -> Array:
        chosen = (code >> k.astype(np.uint32)) & np.uint32(1)
        return digits ^ (chosen[:, None] * numbers[k][None])

    shift = jnp.broadcast_to(jax.random.bits(key, (1, dim), np.uint32), (count, dim))
    return _fraction(jax.lax.fori_loop(0, len(numbers), with_digit, shift) if count > 1 else shift)


def _fraction(digits: UInt32[Array, "count dim"]) -> Float[Array, "count dim"]:
    """0.d₁d₂d₃…, to the binary digits of the type, in the middle of the remaining interval."""
    dtype = jnp.zeros(()).dtype
    kept = min(_DIGITS, jnp.finfo(dtype).nmant)
    leading = (digits >> np.uint32(_DIGITS - kept)).astype(dtype)
    return (leading + 0.5) * 2.0**-kept


def _sobol() -> Any:
    """scipy's class. `scipy.stats` takes a third of a second to import and is rarely needed."""
    import scipy.stats

    return scipy.stats.qmc.Sobol


@functools.lru_cache(maxsize=8)
def _direction_numbers(dim: int, digits: int) -> UInt32[np.ndarray, "digits dim"]:
    """v_{jk}, with the first digit after the point as the leading one."""
    rows = np.zeros((digits, dim), np.uint32)
    for k in range(digits):
        engine = _sobol()(dim, scramble=False, bits=_DIGITS)
        engine.fast_forward(2**k)
        point = (engine.random(1)[0] * 2.0**_DIGITS).astype(np.uint32)
        rows[k] = point ^ rows[k - 1] if k else point
    return rows

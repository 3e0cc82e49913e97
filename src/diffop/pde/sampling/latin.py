"""Points of the unit cube, one in each slice of each coordinate."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...scalars import plain
from ...streams import stream, streams


def latin_hypercube(key: PRNGKeyArray, count: int, dim: int) -> Float[Array, "count dim"]:
    """Points of the unit cube by Latin hypercube sampling. Each coordinate is cut into `count`
    equal intervals. Each interval contains one point, at a random place, and coordinates are paired
    at random.

    Each point is uniformly distributed, so means over them are unbiased. Compared with independent
    points, their variance lacks the part of the function that is a sum of functions of one
    coordinate: for such sums nearly all of the variance, in any number of dimensions.

    Sources: McKay, Beckman and Conover 1979, "A comparison of three methods for selecting values of
    input variables"; Stein 1987, "Large sample properties of simulations using Latin hypercube
    sampling".

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `count`: how many points, at least 1.
    - `dim`: the dimension, at least 1.

    **Returns:** an array of shape `(count, dim)`, of JAX's default float type, in [0, 1).

    **Raises:** `ValueError` if `count` or `dim` is less than 1.

    !!! example

        ```python
        import jax, jax.numpy as jnp
        import diffop as do

        points = do.pde.latin_hypercube(jax.random.key(0), 5, 3)
        jnp.floor(5 * jnp.sort(points[:, 0]))  # [0, 1, 2, 3, 4]
        ```
    """
    count, dim = plain(count), plain(dim)
    if count < 1 or dim < 1:
        raise ValueError(
            f"latin_hypercube expects count and dim of at least 1, got count={count} and dim={dim}."
        )
    keys = streams(key, "order of slices", dim)
    numbers = jax.vmap(lambda key: jax.random.permutation(key, count))(keys).T
    inside = jax.random.uniform(stream(key, "places in slices"), (count, dim))
    points = (numbers.astype(inside.dtype) + inside) / count
    return jnp.minimum(points, 1 - jnp.finfo(points.dtype).epsneg)  # a sum may round up to 1

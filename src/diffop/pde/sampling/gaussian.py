"""Normally distributed points of space at uniformly distributed times."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...streams import stream
from .checks import check_space_time
from .normal import normal


def gaussian_space_time(
    key: PRNGKeyArray, count: int, dim: int, duration: int | float
) -> Float[Array, "count coordinates"]:
    """Random points (x, t): x ~ N(0, I) and t uniform in [0, T], independently.

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `count`: how many points, at least 1.
    - `dim`: the dimension d of space, at least 1.
    - `duration`: the last time T, positive.

    **Returns:** an array of shape `(count, dim + 1)`, time last, of JAX's default float type.

    **Raises:** `ValueError` if `count` or `dim` is less than 1 or `duration` is not positive.

    !!! example

        ```python
        import jax
        import diffop as do

        points = do.pde.gaussian_space_time(jax.random.key(0), 100, 10, duration=1.0)  # (100, 11)
        ```
    """
    check_space_time("gaussian_space_time", count, dim, duration)
    space = normal(stream(key, "normal positions"), (count, dim))
    time = duration * jax.random.uniform(stream(key, "times"), (count, 1))
    return jnp.concatenate([space, time], axis=1)

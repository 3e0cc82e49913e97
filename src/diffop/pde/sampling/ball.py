"""Points of the unit ball."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...streams import stream
from .normal import normal


def unit_ball_by_radius(key: PRNGKeyArray, count: int, dim: int) -> Float[Array, "count dim"]:
    """Random points of the unit ball, with uniform direction and uniform *radius*.

    The radius is drawn uniformly from [0, 1]. This is not the uniform distribution on the ball,
    under which nearly all points lie near the boundary in high dimension. Source: Shi et al. 2024,
    "Stochastic Taylor Derivative Estimator", appendix "Experiment setup", and its published code.

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `count`: how many points, at least 1.
    - `dim`: the dimension d of the space, at least 1.

    **Returns:** an array of shape `(count, dim)`, of JAX's default float type.

    **Raises:** `ValueError` if `count` or `dim` is less than 1.

    !!! example

        ```python
        import jax
        import diffop as do

        points = do.pde.unit_ball_by_radius(jax.random.key(0), 100, 1000)  # (100, 1000)
        ```
    """
    if count < 1 or dim < 1:
        raise ValueError(
            f"unit_ball_by_radius expects count and dim of at least 1, got count={count} and "
            f"dim={dim}; ask for at least one point."
        )
    direction = normal(stream(key, "directions in the ball"), (count, dim))
    radius = jax.random.uniform(stream(key, "radii"), (count, 1))
    return direction * (radius / jnp.linalg.norm(direction, axis=1, keepdims=True))

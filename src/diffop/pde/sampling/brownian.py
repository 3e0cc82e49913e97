"""Points that a diffusing particle visits, for equations in all of space."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...streams import stream
from .checks import check_space_time
from .normal import normal


def brownian_marginals(
    key: PRNGKeyArray, count: int, dim: int, duration: int | float
) -> Float[Array, "count coordinates"]:
    """Random points (x, t): t uniform in [0, T], and x ~ N(0, 2t I).

    These are the places of a particle that starts at 0 at time 0 and diffuses with the generator
    $Δ$, on which the value at (0, 0) of a solution of $u_t + Δu + … = 0$ depends. Each point
    belongs to its own path, so no path is simulated. Source: Shi et al. 2024, "Stochastic Taylor
    Derivative Estimator", appendix "Experiment setup", up to a factor and the direction of time.

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

        points = do.pde.brownian_marginals(jax.random.key(0), 100, 10, duration=0.3)  # (100, 11)
        ```
    """
    check_space_time("brownian_marginals", count, dim, duration)
    time = duration * jax.random.uniform(stream(key, "times of paths"), (count, 1))
    space = jnp.sqrt(2 * time) * normal(stream(key, "ends of paths"), (count, dim))
    return jnp.concatenate([space, time], axis=1)

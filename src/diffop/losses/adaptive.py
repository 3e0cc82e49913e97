"""Points drawn where a residual is large."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.points import Points, at_each, check_arguments, chosen
from ..streams import stream
from ..terms.shapes import check_shape
from .residual import norm_of


def residual_adaptive(
    key: PRNGKeyArray,
    residual: Callable[..., PyTree],
    sample: Callable[[PRNGKeyArray, int], Points],
    count: int,
    *,
    pool: int,
    power: int | float = 1.0,
    floor: int | float = 1.0,
) -> Points:
    """Random points of a pool, more likely where a residual is larger.

    A pool of points x is drawn. Of these, `count` different points are drawn one after another,
    with probabilities proportional to $|r(x)|^k$ / mean $|r|^k + c$, where $|r|$ is the norm of all
    entries of r. Large k and small c follow the residual closely; k = 0 or large c leave the points
    as they are drawn. A mean over the chosen points has the weights of these probabilities. A
    residual that is not finite counts as the largest, so that the loss shows it.

    Source: Wu et al. 2023, "A comprehensive study of non-adaptive and residual-based adaptive
    sampling for physics-informed neural networks" (RAD).

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `residual`: r, a function of one point (the arguments of u) that returns a scalar; for a
        system an array or a pytree of arrays.
    - `sample`: draws the pool from a key and a number, such as the `sample` of a problem.
    - `count`: how many points are chosen, at least 1.
    - `pool`: the size of the pool, at least `count`.
    - `power`, `floor`: k and c, not negative and not both 0.

    **Returns:** `count` points as `sample` draws them: an array of shape `(count, dim)`, or a tuple
    of arrays, one for each argument of u.

    **Raises:** `ValueError` if `count`, `pool`, `power` or `floor` is out of range, or the residual
    takes other arguments.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.ManyBody("allen-cahn", 2, 10, key=jax.random.key(0))
        u = problem.ansatz(lambda x: x[0])

        def residual(x):
            return problem.residual(do.exact(problem.operators())(u)(x), x)

        key = jax.random.key(1)
        points = do.losses.residual_adaptive(key, residual, problem.sample, 100, pool=1000)
        ```
    """
    if not (1 <= count <= pool and power >= 0 and floor >= 0 and power + floor > 0):
        raise ValueError(
            f"residual_adaptive expects 1 <= count <= pool, and a power and a floor that are not "
            f"negative and not both 0, got count={count}, pool={pool}, power={power} and "
            f"floor={floor}."
        )
    pool_key, choice_key = stream(key, "pool"), stream(key, "choice from the pool")
    points = sample(pool_key, pool)
    check_arguments("the residual", residual, points)
    sizes = at_each(lambda *args: _size(residual(*args)), points)
    finite = jnp.isfinite(sizes)
    # in units of the largest: its power is in range. What is not finite counts as the largest
    largest = jnp.max(sizes, initial=0, where=finite)
    sizes = jnp.where(finite, sizes / jnp.where(largest > 0, largest, 1), 1) ** power
    # if all residuals are 0, all points are equally likely
    mean = jnp.mean(sizes)
    weights = jnp.where(mean > 0, sizes / jnp.where(mean > 0, mean, 1), 1) + floor
    which = jax.random.choice(
        choice_key, pool, (count,), replace=False, p=weights / jnp.sum(weights)
    )
    return chosen(points, which)


def _size(residual: PyTree) -> Float[Array, ""]:
    if isinstance(residual, jax.Array) and residual.shape == (1,):
        check_shape("the residual", (1,), "the probability of a point", ())
    return norm_of(residual)

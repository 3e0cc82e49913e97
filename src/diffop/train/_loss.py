"""The loss of a physics-informed network: the mean square of the residual at random points."""

from collections.abc import Callable
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..operators.together import estimate, exact
from ..pde import AbstractProblem
from ._settings import ESTIMATORS


@final
class ResidualLoss(eqx.Module):
    """The mean square of a problem's residual at fresh points, its operators exact or estimated.

    One draw of jets serves all points of a call. The square of an unbiased estimate is not
    unbiased: what is minimised is the squared residual plus the estimate's variance. Source: Shi
    et al. 2024, "Stochastic Taylor Derivative Estimator", the amortised loss of the appendix
    "Experiment setup", which omits the square in print.

    **Arguments:**

    - `problem`: the equation.
    - `batch`: how many points, at least 1.
    - `n`: how many draws of jets; not used by `"exact"`.
    - `estimator`: `"exact"` or the `probes` of `diffop.estimate`.

    **Returns:** called with `(u, key)`, where u maps one point of shape `(d,)` to a scalar: a
    scalar. Equal keys give equal points and jets.

    **Raises:** `ValueError` if the estimator is unknown.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.AllenCahnTwoBody(10, key=jax.random.key(0))
        loss = do.train.ResidualLoss(problem, batch=100, n=4, estimator="sparse")
        loss(problem.solution, jax.random.key(1))
        ```
    """

    problem: AbstractProblem
    batch: int = eqx.field(static=True)
    n: int = eqx.field(static=True)
    estimator: str = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise ValueError(
                f"ResidualLoss expects an estimator among {', '.join(ESTIMATORS)}, got "
                f"{self.estimator!r}."
            )

    def __call__(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""]:
        points_key, jets_key = jax.random.split(key)
        values = self._evaluator(jets_key)(u)
        points = self.problem.sample(points_key, self.batch)
        residuals = jax.vmap(lambda x: self.problem.residual(values(x), x))(points)
        return jnp.mean(residuals * residuals)

    def _evaluator(self, key: PRNGKeyArray) -> Callable:
        if self.estimator == "exact":
            return exact(self.problem.operators())
        return estimate(self.problem.operators(), key, self.n, probes=self.estimator)

"""The loss of a physics-informed network: residual, gradient of the residual, and data."""

from collections.abc import Callable
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..operators.together import estimate, exact
from ..pde import AbstractProblem
from ._residual import Coordinates, Residual, operators, residual
from ._settings import ESTIMATORS


def spread(first: int | Int[Array, ""], dim: int, terms: int) -> Coordinates:
    """`terms` different coordinates of `dim`, equally far apart from the first one on.

    Over all first ones each coordinate occurs equally often.
    """
    return tuple((first + k * dim // terms) % dim for k in range(terms))


@final
class ResidualLoss(eqx.Module):
    """The mean square of a problem's residual at fresh points, its operators exact or estimated.

    To it are added, where there are any, `data_weight` times the mean squares of what the problem's
    conditions miss, and `gpinn` times the mean of Σ_j |∂_j R|², R being the residual (gPINN). Of
    the d terms of that sum `gpinn_terms` = m are taken at each call, equally far apart from a
    random first one on, and scaled by d/m: every j is as likely as any other, so the mean is the
    whole sum.

    One draw of jets serves all points of a call. The square of an unbiased estimate is not
    unbiased: what is minimised is the squared residual plus the estimate's variance. `unbiased`
    makes two independent draws instead and takes the product of the two residuals, and of their
    derivatives likewise, whose mean is the square if the residual is affine in what is estimated;
    such a loss may be negative.

    Sources: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", the amortised loss of the
    appendix "Experiment setup", which omits the square in print, and "Amortized gradient-enhanced
    PINN", whose bound on the sampled sum does not hold: here the sampled sum itself is squared. Yu
    et al. 2022, "Gradient-enhanced physics-informed neural networks".

    **Arguments:**

    - `problem`: the equation.
    - `batch`: how many points, and how many for each condition; at least 1.
    - `n`: how many draws of jets; not used by `"exact"`.
    - `estimator`: `"exact"` or the `probes` of `diffop.estimate`.
    - `data_weight`: the weight of the problem's conditions.
    - `gpinn`: the weight of the residual's gradient; 0 for none. It multiplies the whole sum over
        j, estimated without bias; a weight of the sum over the sampled j alone, which is what the
        paper states, is d/m times as large.
    - `gpinn_terms`: how many of its components are taken at each call; all if there are no more.
    - `unbiased`: whether two independent draws make the loss.

    **Returns:** called with `(u, key)`, where u maps one point of shape `(d,)` to a scalar: a
    scalar. Equal keys give equal points and jets.

    **Raises:** `ValueError` if the estimator is unknown, if it is biased for one of the operators,
    or if `unbiased` is asked of the exact one.

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
    data_weight: int | float = eqx.field(static=True, default=1.0)
    gpinn: int | float = eqx.field(static=True, default=0.0)
    gpinn_terms: int = eqx.field(static=True, default=4)
    unbiased: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise ValueError(
                f"ResidualLoss expects an estimator among {', '.join(ESTIMATORS)}, got "
                f"{self.estimator!r}."
            )
        if self.unbiased and self.estimator == "exact":
            raise ValueError(
                "an unbiased loss is made of two draws of random jets, got the estimator 'exact', "
                "whose loss has no bias; leave one of the two out."
            )
        # probes that are biased for an operator are refused here, before any training
        self._evaluator((0,) if self.gpinn else (), jax.random.key(0))

    def __call__(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""]:
        points_key, jets_key = jax.random.split(key)
        points = self.problem.sample(points_key, self.batch)
        coordinates = self._coordinates(jax.random.fold_in(jets_key, 0))

        def draw(key: PRNGKeyArray) -> Residual:
            values = self._evaluator(coordinates, key)(u)
            return jax.vmap(residual(self.problem, coordinates, values))(points)

        first = draw(jets_key)
        second = draw(jax.random.fold_in(jets_key, 1)) if self.unbiased else first
        loss = jnp.mean(first.value * second.value)
        if coordinates:
            whole = self.problem.dim / len(coordinates)
            products = jnp.sum(first.gradient * second.gradient, axis=1)
            loss = loss + self.gpinn * whole * jnp.mean(products)
        return loss + self.data_weight * self._misfit(u, jax.random.fold_in(points_key, 0))

    def _misfit(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""] | float:
        """The sum over the conditions of the mean squares of what u misses."""
        squares = (
            jnp.mean(jnp.square(jax.vmap(operator.exact(u))(points) - values))
            for operator, points, values in self.problem.conditions(key, self.batch)
        )
        return sum(squares, 0.0)

    def _coordinates(self, key: PRNGKeyArray) -> Coordinates:
        """Along which coordinates the residual is differentiated."""
        dim, terms = self.problem.dim, self.gpinn_terms
        if not self.gpinn:
            return ()
        if terms >= dim:
            return tuple(range(dim))
        return spread(jax.random.randint(key, (), 0, dim), dim, terms)

    def _evaluator(self, coordinates: Coordinates, key: PRNGKeyArray) -> Callable:
        ops = operators(self.problem, coordinates)
        if self.estimator == "exact":
            return exact(ops)
        return estimate(ops, key, self.n, probes=self.estimator)

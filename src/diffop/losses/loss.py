"""The loss of a physics-informed network: residual, gradient of the residual, and data."""

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from .. import baselines
from ..baselines import AbstractBaseline
from ..equations.condition import AnyCondition, Condition
from ..operators.draws import NAMED, AbstractProbe, as_probe
from ..operators.together import estimate, exact
from .adaptive import residual_adaptive
from .residual import Coordinates, Problem, Residual, norm_of, operators, residual
from .sharding import shard_points
from .squares import SQUARES, RandomResidual, draw_keys, mean_over_points

ESTIMATORS = ("exact", *NAMED)


def spread(first: int | Int[Array, ""], dim: int, terms: int) -> Coordinates:
    """`terms` different coordinates of `dim`, equally far apart from the first one on.

    Over all first ones each coordinate occurs equally often.
    """
    return tuple((first + k * dim // terms) % dim for k in range(terms))


Estimator: TypeAlias = AbstractProbe | AbstractBaseline | None


def _estimator_of(estimator: Any) -> Estimator:
    """The probes or the baseline by which operators are estimated; None where they are exact."""
    if estimator is None or isinstance(estimator, AbstractProbe | AbstractBaseline):
        return estimator  # converted before
    name = estimator if isinstance(estimator, str) else None
    if name in baselines.names():
        return baselines.as_baseline(name)
    if name not in ESTIMATORS:
        raise ValueError(
            f"ResidualLoss expects an estimator among {', '.join(ESTIMATORS)}, one of "
            f"diffop.probes, or a baseline among {', '.join(baselines.names())}, got {estimator!r}."
        )
    return None if name == "exact" else as_probe(name)


def _exact_name(estimator: Estimator) -> str | None:
    """What an estimator without anything random is called; None for the others."""
    if estimator is None:
        return "exact"
    exact = isinstance(estimator, AbstractBaseline) and not estimator.random
    return estimator.name if exact else None


@final
class ResidualLoss(eqx.Module):
    """The mean square of a problem's residual at fresh points, its operators exact or estimated.
    Of a residual with several entries, an array or a pytree, the squares are added.

    To it are added, where there are any, `data_weight` times the mean squares of what the problem's
    conditions miss, and `gpinn` times the mean of Σ_j |∂_j R|², R being the residual (gPINN). Of
    the d terms of that sum `gpinn_terms` = m are taken at each call, equally far apart from a
    random first one on, and scaled by d/m: every j is as likely as any other, so the mean is the
    whole sum.

    One draw of jets serves all points of a call. The square of an unbiased estimate R̂ is not
    unbiased: its mean is R² + Var[R̂], so the variance is minimised too. There are three squares, of
    the residual and of its derivatives alike:

    - `"biased"`: R̂². [`bias`][diffop.train.ResidualLoss.bias] tells how much of it is variance.
    - `"product"`: R̂₁R̂₂, of two independent draws, with twice the jets.
    - `"pairs"`: R̂² − V, V being an unbiased estimate of the variance from the same draws; for
        independent draws R_r it is the mean of R_r R_s over all pairs r ≠ s. At equal numbers of
        independent draws its variance is never more than that of the product.

    The mean of the last two is the exact loss, and that of their gradients its gradient, if the
    residual is affine in what is sampled; such losses may be negative.

    Sources: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", the amortised loss of the
    appendix "Experiment setup", which omits the square in print, and "Amortized gradient-enhanced
    PINN", whose bound on the sampled sum does not hold: here the sampled sum itself is squared. Yu
    et al. 2022, "Gradient-enhanced physics-informed neural networks". Hoeffding 1948, "A class of
    statistics with asymptotically normal distribution", for the pairs.

    **Arguments:**

    - `problem`: the equation.
    - `batch`: how many points, at least 1.
    - `n`: how many draws of jets; not used by `"exact"`.
    - `estimator`: `"exact"` or the `probes` of `diffop.estimate`, by name or from `diffop.probes`;
        or, to compare with, one of `diffop.baselines`, by name or itself.
    - `data_weight`: the weight of the problem's conditions.
    - `gpinn`: the weight of the residual's gradient; 0 for none. It multiplies the whole sum over
        j, estimated without bias; a weight of the sum over the sampled j alone, which is what the
        paper states, is d/m times as large.
    - `gpinn_terms`: how many of its components are taken at each call; all if there are no more.
    - `square`: `"biased"`, `"product"` or `"pairs"`.
    - `data_batch`: how many points each condition has; as many as `batch` if it is not given.
    - `pool`: the points are chosen from `pool * batch`, likelier where the residual is large
        (`diffop.pde.residual_adaptive`); 1 takes them as they are drawn. The mean is then over
        points of that kind. The choice has jets of its own, so that it does not favour points at
        which a draw happens to be large.

    **Returns:** called with `(u, key)`, where u maps one point of shape `(d,)` to a scalar, or to
    what a system's residual takes: a scalar. Equal keys give equal points and jets.

    **Raises:** `ValueError` if the estimator or the square is unknown, if the estimator is biased
    for one of the operators, if `"product"` or `"pairs"` is asked of an exact one, or `"pairs"` of
    one that has no standard error, such as a single draw or a baseline, if a baseline is asked for
    gPINN or cannot take an operator, and at the call if u gives another shape than is asked of it;
    `diffop.train.MissingExtraError` if it needs a package that is missing.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.AllenCahnTwoBody(10, key=jax.random.key(0))
        loss = do.train.ResidualLoss(problem, batch=100, n=4, estimator="sparse", square="pairs")
        loss(problem.solution, jax.random.key(1))
        ```
    """

    problem: Problem
    batch: int = eqx.field(static=True)
    n: int = eqx.field(static=True)
    estimator: Estimator = eqx.field(converter=_estimator_of)
    data_weight: int | float = eqx.field(static=True, default=1.0)
    gpinn: int | float = eqx.field(static=True, default=0.0)
    gpinn_terms: int = eqx.field(static=True, default=4)
    square: str = eqx.field(static=True, default="biased")
    data_batch: int | None = eqx.field(static=True, default=None)
    pool: int = eqx.field(static=True, default=1)

    def __check_init__(self) -> None:
        if self.square not in SQUARES:
            raise ValueError(
                f"ResidualLoss expects a square among {', '.join(SQUARES)}, got {self.square!r}."
            )
        baseline = self.estimator if isinstance(self.estimator, AbstractBaseline) else None
        if self.square != "biased" and (exact := _exact_name(self.estimator)):
            raise ValueError(
                f"the square {self.square!r} takes away the bias of random jets, got the estimator "
                f"{exact!r}, whose loss has no bias; leave one of the two out."
            )
        if baseline is not None and self.gpinn:
            raise ValueError(
                "gPINN differentiates the residual, and baselines take derivatives of order two at "
                f"most, got gpinn={self.gpinn} and the estimator {baseline.name!r}; leave one of "
                "the two out."
            )
        # probes that are biased for an operator are refused here, before any training
        self._joint((0,) if self.gpinn else (), jax.random.key(0))
        if self.square == "pairs":
            self._check_variance()

    def __call__(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""]:
        return reduce(operator.add, self.terms(u, key).values())

    def terms(self, u: Callable, key: PRNGKeyArray) -> dict[str, Float[Array, ""]]:
        """What the loss is the sum of, each with its weight: `"residual"`, and `"gpinn"` and
        `"data"` where there are any.

        **Arguments:** as for the loss; equal keys give equal points and jets.

        **Returns:** scalars by name.

        !!! example

            ```python
            import jax
            import diffop as do

            problem = do.pde.make("g-kdv-1d", key=jax.random.key(0))
            loss = do.train.ResidualLoss(problem, batch=10, n=1, estimator="exact")
            loss.terms(problem.solution, jax.random.key(1))  # {'residual': …, 'data': …}
            ```
        """
        points_key, _ = jax.random.split(key)
        squares = self._means(SQUARES[self.square](self._random(u, key)))
        return squares | self._misfit(u, jax.random.fold_in(points_key, 0))

    def bias(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""]:
        """An unbiased estimate of what the mean of the loss has too much: of how much of it is the
        noise of the jets rather than a residual.

        For `"biased"` it is the mean of V over the points, with the derivatives' V weighted as
        their squares are; the loss minus its bias is the loss of `"pairs"`. It is zero for the
        other squares and for the exact estimator.

        **Arguments:** as for the loss; equal keys give equal points and jets.

        **Returns:** a scalar.

        **Raises:** `ValueError` where the estimate has no standard error, such as a single draw.

        !!! example

            ```python
            import jax
            import diffop as do

            problem = do.pde.AllenCahnTwoBody(10, key=jax.random.key(0))
            loss = do.train.ResidualLoss(problem, batch=100, n=4, estimator="sparse")
            key = jax.random.key(1)
            loss.bias(problem.solution, key) / loss(problem.solution, key)  # about 1: all is noise
            ```
        """
        if self.square != "biased":
            return jnp.zeros(())
        variances = self._means(self._random(u, key).moments(0).variance)
        return reduce(operator.add, variances.values())

    def _means(self, squares: Residual) -> dict[str, Float[Array, ""]]:
        """The means over the points, that of the derivatives with its weight."""
        means = {"residual": mean_over_points(squares.value)}
        if self.gpinn:
            whole = self.problem.dim / min(self.gpinn_terms, self.problem.dim)
            means["gpinn"] = self.gpinn * whole * mean_over_points(squares.gradient)
        return means

    def _random(self, u: Callable, key: PRNGKeyArray) -> RandomResidual:
        """The residual at the points of a call, with its draws of jets."""
        points_key, jets_key = jax.random.split(key)
        points = self._points(u, points_key)
        coordinates = self._coordinates(jax.random.fold_in(jets_key, 0))
        keys = draw_keys(jets_key)
        return RandomResidual(
            partial(residual, self.problem, u, coordinates),
            points,
            u,
            lambda number: self._joint(coordinates, keys[number]),
        )

    def _points(self, u: Callable, key: PRNGKeyArray) -> Float[Array, "batch dim"]:
        def sample(key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
            return shard_points(self.problem.sample(key, count))

        if self.pool == 1:
            return sample(key, self.batch)
        values = self._joint((), jax.random.fold_in(key, 1))(u)

        def size(x: Float[Array, " dim"]) -> Float[Array, ""]:
            value = residual(self.problem, u, (), values(x), x).value
            return jax.lax.stop_gradient(norm_of(value))

        pool = self.pool * self.batch
        return shard_points(residual_adaptive(key, size, sample, self.batch, pool=pool))

    def _misfit(self, u: Callable, key: PRNGKeyArray) -> dict[str, Float[Array, ""]]:
        """The sum over the conditions of the mean squares of what u misses, with its weight."""
        conditions = self.problem.conditions(key, self.data_batch or self.batch)
        squares = [_sharded(c).misfit(u) for c in conditions]
        return {"data": self.data_weight * reduce(operator.add, squares)} if squares else {}

    def _coordinates(self, key: PRNGKeyArray) -> Coordinates:
        """Along which coordinates the residual is differentiated."""
        dim, terms = self.problem.dim, self.gpinn_terms
        if not self.gpinn:
            return ()
        if terms >= dim:
            return tuple(range(dim))
        return spread(jax.random.randint(key, (), 0, dim), dim, terms)

    def _joint(self, coordinates: Coordinates, key: PRNGKeyArray) -> Callable[[Callable], Callable]:
        ops = operators(self.problem, coordinates)
        if self.estimator is None:
            return exact(ops)
        if isinstance(self.estimator, AbstractBaseline):
            return baselines.estimate(self.estimator, ops, key, self.n)
        return estimate(ops, key, self.n, probes=self.estimator)

    def _check_variance(self) -> None:
        """Whether there is one depends on the shapes of the sampled operators alone."""

        def variance(loss: "ResidualLoss", key: PRNGKeyArray) -> PyTree:
            random = loss._random(jnp.sum, key)  # of the operators: a system's residual needs its u
            values = RandomResidual(lambda v, x: v, random.points, random.u, random.joint)
            return values.moments(0).variance

        try:
            eqx.filter_eval_shape(variance, self, jax.random.key(0))
        except ValueError as error:
            raise ValueError(
                f"the square 'pairs' takes the variance of an estimate away: {error}"
            ) from None


def _sharded(condition: AnyCondition) -> AnyCondition:
    """With its points divided over the mesh of a fit."""
    if not isinstance(condition, Condition):
        return condition
    return condition._replace(points=shard_points(condition.points))

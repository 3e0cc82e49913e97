"""The loss of a physics-informed network: residual, gradient of the residual, and data."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.condition import AnyCondition
from ..equations.equation import AbstractEquation, as_equation, of_model, with_unknowns
from ..equations.points import OnePoint, Points, check_arguments, count_of
from ..operators.base import Operator
from ..operators.elementary import Partial
from ..parallel.sharding import shard_points
from ..scalars import plain
from ..streams import stream
from . import misfit, pointwise
from .adaptive import residual_adaptive
from .causal import Causal
from .checks import (
    check_causal,
    check_counts,
    check_draws,
    check_gpinn,
    check_points,
    check_square,
    check_variance,
    check_weights,
)
from .drawn import DrawnPoints, PointsFrom, as_where, sampler
from .enhancement import Enhancement, derivative_with_respect_to
from .misfit import DataWeight
from .pointwise import Pointwise
from .probes import LossProbes, as_probes, joint
from .residual import Residual, norm_of, operators, residual
from .smoothness import warn_of_kinks
from .squares import (
    SQUARES,
    RandomResidual,
    biased,
    draw_keys,
    mean_over_points,
    of_points,
    sum_at_points,
)


@final
class ResidualLoss(eqx.Module):
    """The mean square of an equation's residual, with exact or estimated operators. If the residual
    has several entries, an array or a pytree, their squares are added.

    Two terms can be added: `data_weight` times the mean squared misfits of the equation's
    conditions, and `gpinn` times the mean of $Σ_j |∂_j R|² = |∇R|²$, where R is the residual
    (gPINN). The whole gradient is computed by reverse mode over the residual, which costs a few
    times as much as the residual, in any number of dimensions. Alternatively, `gpinn_terms` = m of
    the d terms of that sum are computed by jets, which needs no reverse mode. These terms are
    equally spaced from a random first one on, and scaled by d/m. Every j is as likely as any other,
    so the mean is the whole sum.

    One draw of jets serves all points of a call. The square of an unbiased estimate $R̂$ is not
    unbiased: its mean is $R² + Var[R̂]$, so the variance is minimised too. There are three ways to
    square the residual and its derivatives:

    - `"biased"`: $R̂²$. [`bias`][diffop.losses.ResidualLoss.bias] tells how much of it is variance.
    - `"product"`: $R̂₁R̂₂$, of two independent draws, with twice the jets.
    - `"pairs"`: $R̂² − V$, where V is an unbiased estimate of the variance from the same draws. For
        independent draws $R_r$ it is the mean of $R_r R_s$ over all pairs r ≠ s. At equal numbers
        of independent draws its variance is never more than that of the product.

    If the residual is affine in the sampled values, the mean of the last two is the exact loss, and
    the mean of their gradients is its gradient. Such losses may be negative.

    Sources: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", the amortised loss of the
    appendix "Experiment setup", which omits the square in print, and "Amortized gradient-enhanced
    PINN", whose bound on the sampled sum does not hold: here the sampled sum itself is squared. Yu
    et al. 2022, "Gradient-enhanced physics-informed neural networks". Hoeffding 1948, "A class of
    statistics with asymptotically normal distribution", for the pairs.

    **Arguments:**

    - `equation`: a problem, or another [`diffop.equations.AbstractEquation`][].
    - `batch`: how many fresh points at each call, at least 1.
    - `n`: how many draws of jets; not needed if nothing is drawn.
    - `probes`: `"exact"`, or as for `diffop.estimate`, by name or from `diffop.probes`; or, for
        comparisons, a baseline such as `diffop.baselines.SDGD()`.
    - `data_weight`: the weight of the equation's conditions; or a list with one weight for each, in
        the order in which the equation returns them.
    - `gpinn`: the weight of the residual's gradient, the square of a length; 0 for none. It
        multiplies the whole sum over j, even if that is estimated. The paper states a weight of the
        sum over the sampled j alone, which is d/m times as large.
    - `gpinn_terms`: None for the whole gradient; or how many of its components are computed at each
        call, all if there are no more.
    - `square`: `"biased"`, `"product"` or `"pairs"`.
    - `data_batch`: how many points each condition has; by default as many as `batch`.
    - `pool`: the points are chosen from `pool * batch` points, more likely where the residual is
        large (`diffop.losses.residual_adaptive`); 1 takes them as they are drawn. The mean is then
        over the chosen points. The choice has its own jets, so that it does not favour points at
        which a draw happens to be large.
    - `points`: points that replace those of the problem's domain: another domain, such as a
        `diffop.pde.Box`, or a function `(key, count)`, which draw `batch` points; or an array of
        shape `(count, d)`, the same points at each call. An equation without a domain needs one of
        these. For a function of several arguments, $u(x, t)$, points are a tuple of arrays, one for
        each argument, with points along the first axes.
    - `weights`: of the squares of a system's residuals: numbers in the residual's structure, such
        as `{"momentum": 1.0, "mass": 10.0}`; ones if not given.
    - `causal`: [`diffop.losses.Causal`][] weights of the points, by their time; for the square
        `"biased"`. None for ones.

    **Returns:** a loss to call with `(u, key)`, where u maps one point, of shape `(d,)` or of
    several arguments, to a scalar, or to the values that a system's residual takes. The loss is a
    scalar. Equal keys give equal points and jets. If u is a [`diffop.nn.PINN`][] with unknowns, the
    equation is the PINN's own, with what it has learnt.

    **Raises:** `TypeError` if `equation` is not an equation, or a number of points not an integer.
    `ValueError` if a number of points is less than one; if the probes or the square are unknown; if
    the probes are biased for one of the operators; if `"product"` or `"pairs"` is used with exact
    operators, or `"pairs"` with probes that have no standard error, such as a single draw or a
    baseline; if a baseline is used with gPINN or cannot compute an operator; if the points, or
    their number or that of draws, are missing; or if given points are not finite. At the call,
    `ValueError` if u takes other arguments than points, or gives a wrong shape, or if the residual
    does not have the structure of the weights. `diffop.train.MissingExtraError` if it needs a
    package that is missing.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.ManyBody("allen-cahn", 2, 10, key=jax.random.key(0))
        loss = do.losses.ResidualLoss(problem, batch=100, n=4, probes="sparse", square="pairs")
        loss(problem.solution, jax.random.key(1))
        ```
    """

    equation: AbstractEquation = eqx.field(converter=partial(as_equation, "ResidualLoss"))
    batch: int | None = eqx.field(static=True, converter=plain, default=None)
    n: int | None = eqx.field(static=True, converter=plain, default=None)
    probes: LossProbes = eqx.field(converter=as_probes, default="auto")
    data_weight: DataWeight = eqx.field(static=True, default=1.0, converter=misfit.as_data_weight)
    gpinn: int | float = eqx.field(static=True, converter=plain, default=0.0)
    gpinn_terms: int | None = eqx.field(static=True, converter=plain, default=None)
    square: str = eqx.field(static=True, default="biased")
    data_batch: int | None = eqx.field(static=True, converter=plain, default=None)
    pool: int = eqx.field(static=True, converter=plain, default=1)
    points: PointsFrom = eqx.field(converter=as_where, default=None)
    weights: PyTree = None
    causal: Causal | None = None

    def __check_init__(self) -> None:
        check_counts(batch=self.batch, data_batch=self.data_batch, pool=self.pool)
        check_counts(gpinn_terms=self.gpinn_terms)
        check_square(self.square, self.probes)
        check_causal(self.causal, self.square)
        check_gpinn(self.gpinn, self.probes)
        check_weights(self.weights)
        check_draws(self.n, self.probes)
        check_points(self.equation, self.points, self.batch, self.pool)
        # probes that are biased for an operator are refused here, before training begins
        derivatives = [Partial(0)] if self._enhancement.by_jets else ()
        self._joint(self.equation, derivatives, jax.random.key(0))
        if self.square == "pairs":
            check_variance(self._at_any_points)

    def __call__(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""]:
        return reduce(operator.add, self.terms(u, key).values())

    def terms(self, u: Callable, key: PRNGKeyArray) -> dict[str, Float[Array, ""]]:
        """The terms of the loss, with their weights: `"residual"`, and `"gpinn"` and `"data"` if
        there are any.

        **Arguments:** as for the loss; equal keys give equal points and jets.

        **Returns:** scalars by name.

        !!! example

            ```python
            import jax
            import diffop as do

            problem = do.pde.make("g-kdv-1d", key=jax.random.key(0))
            loss = do.losses.ResidualLoss(problem, batch=10, probes="exact")
            loss.terms(problem.solution, jax.random.key(1))  # {'residual': …, 'data': …}
            ```
        """
        return self._terms_of(u, self._drawn(u, key))

    def residuals(self, u: Callable, key: PRNGKeyArray) -> dict[str, PyTree]:
        """The numbers whose squares add up to the loss, for least-squares methods.

        They are the residuals at the points, those of `"gpinn"`, and the misfits of each condition
        under `"data"`, each times the root of its weight over the number of its points; complex
        numbers count by their magnitudes.

        **Arguments:** as for the loss; equal keys give equal points and jets.

        **Returns:** arrays by name, under the names of `terms`.

        **Raises:** `ValueError` for a square other than `"biased"`, which is not a sum of squares;
        `TypeError` for conditions that do not give their residuals.

        !!! example

            ```python
            import jax, jax.numpy as jnp
            import diffop as do

            problem = do.pde.make("g-kdv-1d", key=jax.random.key(0))
            loss = do.losses.ResidualLoss(problem, batch=10, probes="exact")
            found = loss.residuals(jnp.sum, jax.random.key(1))
            sum(jnp.sum(r**2) for r in jax.tree.leaves(found))  # loss(jnp.sum, jax.random.key(1))
            ```
        """
        drawn = self._drawn(u, key)
        found = {name: each(u) for name, each in self._of_equation(drawn).items()}
        if drawn.data:
            found["data"] = misfit.residuals(drawn.data, self.data_weight, u)
        return found

    def pointwise(self, u: Callable, key: PRNGKeyArray) -> dict[str, Sequence[Pointwise]]:
        """The same numbers as functions of u and one point, for methods that differentiate them
        point by point: `diffop.methods.GaussNewton`.

        **Arguments:** as for the loss; u is used if the choice of points depends on it.

        **Returns:** `diffop.losses.Pointwise`s by the names of `terms`.

        **Raises:** as `residuals`.

        !!! example

            ```python
            import jax, jax.numpy as jnp
            import diffop as do

            problem = do.pde.make("g-kdv-1d", key=jax.random.key(0))
            loss = do.losses.ResidualLoss(problem, batch=10, probes="exact")
            (inside,) = loss.pointwise(jnp.sum, jax.random.key(1))["residual"]
            inside(problem.solution).shape  # (10,)
            ```
        """
        drawn = self._drawn(u, key)
        named: dict[str, Sequence[Pointwise]] = {
            name: [each] for name, each in self._of_equation(drawn).items()
        }
        if drawn.data:
            named["data"] = self._data_pointwise(u, key, drawn)
        return named

    def _data_pointwise(
        self, u: Callable, key: PRNGKeyArray, drawn: DrawnPoints
    ) -> Sequence[Pointwise]:
        """Those of the conditions. They depend on learnt values, so they are drawn again."""
        if with_unknowns(u) is not None:

            def at_all(u: Callable, _: PyTree) -> list[PyTree]:
                return misfit.residuals(self._data(u, drawn.points, key), self.data_weight, u)

            return [Pointwise(at_all, jnp.zeros(1))]
        weighted = misfit.with_weights(drawn.data, self.data_weight)
        return [pointwise.of_condition(*each) for each in weighted]

    def bias(self, u: Callable, key: PRNGKeyArray) -> Float[Array, ""]:
        """An estimate of the loss's bias: the part of it that is noise of the jets. It is unbiased
        if the residual is affine in what is sampled. If factors of a product are sampled, it is
        correct to first order in their noise, and too large where that is larger than they are.

        For `"biased"` it is the mean of V over the points, with the derivatives' V weighted as
        their squares are; the loss minus its bias is the loss of `"pairs"`. It is zero for the
        other squares, and if nothing is sampled.

        **Arguments:** as for the loss; equal keys give equal points and jets.

        **Returns:** a scalar.

        **Raises:** `ValueError` if the estimate has no standard error, such as a single draw.

        !!! example

            ```python
            import jax
            import diffop as do

            problem = do.pde.ManyBody("allen-cahn", 2, 10, key=jax.random.key(0))
            loss = do.losses.ResidualLoss(problem, batch=100, n=4, probes="sparse")
            key = jax.random.key(1)
            loss.bias(problem.solution, key) / loss(problem.solution, key)  # about 1: all is noise
            ```
        """
        if self.square != "biased":
            return jnp.zeros(())
        drawn = self._drawn(u, key)
        variances = self._means(self._random(u, drawn).with_variance(0)[1], drawn)
        return reduce(operator.add, variances.values())

    def terms_at(
        self, u: Callable, points: Points, data: Sequence[AnyCondition], key: PRNGKeyArray
    ) -> dict[str, Float[Array, ""]]:
        """`terms` at given points and conditions; the key is that of the jets."""
        return self._terms_of(u, self._drawn_at(u, points, data, key))

    def _terms_of(self, u: Callable, drawn: DrawnPoints) -> dict[str, Float[Array, ""]]:
        """`terms`, for given draws."""
        means = self._means(SQUARES[self.square](self._random(u, drawn)), drawn)
        missed = misfit.misfit(drawn.data, self.data_weight, u)
        return means if missed is None else means | {"data": missed}

    def _check_squares(self) -> None:
        if self.square != "biased":
            raise ValueError(
                f"residuals are those of the square 'biased', got {self.square!r}, which is no sum "
                'of squares; build the loss with square="biased".'
            )

    def _of_equation(self, drawn: DrawnPoints) -> dict[str, Pointwise]:
        """The numbers of the equation, as functions of u and one point."""
        self._check_squares()
        names = ("residual", "gpinn") if self.gpinn else ("residual",)
        at = (drawn.points, drawn.weights)
        return {name: Pointwise(partial(self._at_point, name, drawn), at) for name in names}

    def _at_point(
        self,
        name: str,
        drawn: DrawnPoints,
        u: Callable,
        at: tuple[OnePoint, Float[Array, ""] | None],
    ) -> PyTree:
        """The numbers of a term at a point with a weight, whose squares add up over all points."""
        point, weight = at
        found = self._random(u, drawn).at_point(0)(point)
        factor = 1.0 if name == "residual" else self._enhancement.weight_at(drawn.points)
        root = math.sqrt(factor / count_of(drawn.points))
        if weight is not None:
            root = root * jnp.sqrt(weight)
        of_term = found.value if name == "residual" else found.gradient
        return jax.tree.map(lambda leaf: jnp.asarray(root).astype(leaf.dtype) * leaf, of_term)

    def _means(self, squares: Residual, drawn: DrawnPoints) -> dict[str, Float[Array, ""]]:
        """The means over the points; that of the derivatives has its weight."""
        if drawn.weights is not None:
            squares = of_points(squares, drawn.weights)
        means = {"residual": mean_over_points(squares.value)}
        if self.gpinn:
            weight = self._enhancement.weight_at(drawn.points)
            means["gpinn"] = weight * mean_over_points(squares.gradient)
        return means

    def _random(self, u: Callable, drawn: DrawnPoints) -> RandomResidual:
        """The residual at the points of a call, with its draws of jets."""
        check_arguments("u", u, drawn.points)
        coordinates = self._enhancement.coordinates(drawn.points, drawn.jets)
        derivatives = [derivative_with_respect_to(each, drawn.points) for each in coordinates]
        keys = draw_keys(drawn.jets)
        equation = of_model(self.equation, u)
        return RandomResidual(
            partial(residual, equation, u, self.weights, coordinates),
            drawn.points,
            u,
            lambda number: self._joint(equation, derivatives, keys[number]),
            self._enhancement.whole,
        )

    def _drawn(self, u: Callable, key: PRNGKeyArray) -> DrawnPoints:
        points = self._points(u, stream(key, "points"))
        return self._drawn_at(u, points, self._data(u, points, key), stream(key, "jets"))

    def _data(self, u: Callable, points: Points, key: PRNGKeyArray) -> Sequence[AnyCondition]:
        """The conditions of a call, with their own points."""
        count = self.data_batch or count_of(points)
        data = of_model(self.equation, u).conditions(stream(key, "conditions"), count)
        misfit.check_conditions(data, self.data_weight)
        return data

    def _drawn_at(
        self, u: Callable, points: Points, data: Sequence[AnyCondition], key: PRNGKeyArray
    ) -> DrawnPoints:
        """Everything that is random in a call, with the weights of the points."""
        warn_of_kinks(self.equation.operators(), u, points)
        drawn = DrawnPoints(points, data, key)
        if self.causal is None:
            return drawn
        squares = biased(self._random(u, drawn)).value
        return drawn._replace(weights=self.causal.weights(sum_at_points(squares), points))

    def _points(self, u: Callable, key: PRNGKeyArray) -> Points:
        equation = of_model(self.equation, u)
        sample = sampler(equation, self.points)
        if self.batch is None or self.pool == 1:
            return sample(key, self.batch or 0)
        values = self._joint(equation, (), stream(key, "jets of the pool"))(u)

        def size(*args: PyTree) -> Float[Array, ""]:
            check_arguments("u", u, args)
            value = residual(equation, u, self.weights, (), values(*args), args).value
            return jax.lax.stop_gradient(norm_of(value))

        pool = self.pool * self.batch
        return shard_points(residual_adaptive(key, size, sample, self.batch, pool=pool))

    def _joint(
        self, equation: AbstractEquation, derivatives: Sequence[Operator], key: PRNGKeyArray
    ) -> Callable[[Callable], Callable]:
        return joint(self.probes, operators(equation, derivatives), key, self.n or 1)

    @property
    def _enhancement(self) -> Enhancement:
        return Enhancement(self.gpinn, self.gpinn_terms)

    def _at_any_points(self, key: PRNGKeyArray) -> RandomResidual:
        """The residual for a u that takes any arguments."""
        points_key = stream(key, "any points")
        points = sampler(self.equation, self.points)(points_key, self.batch or 0)
        return self._random(_total, DrawnPoints(points, (), key))


def _total(*args: PyTree) -> Float[Array, ""]:
    return jax.tree.reduce(operator.add, jax.tree.map(jnp.sum, args))

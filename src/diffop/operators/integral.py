"""Integrals of u."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..array_types import Key, ScalarArray, Vector
from ..called import called_with_point
from ..jets.fields import as_floating
from ..jets.point import Point
from ..quadrature import AbstractRegion, AbstractRule, GaussLegendre
from ..quadrature.region import as_region
from ..terms.arguments import checked_argnum, checked_dims, is_function
from ..terms.coefficients import times_scalar
from ..terms.nonlocal_terms import Nonlocal, mapped_in_chunks
from ..terms.term import Term, factor_term
from .differential import DifferentialOperator

IntegralKernel = Callable[..., Any]


@final
class Integral(DifferentialOperator):
    """$∫ k(x, y) u(y) dy$, an operator that adds, scales and composes with other operators.
    `Partial(0) - Integral(…)` is an integro-differential operator, `Integral(…) @ Laplacian()`
    integrates the Laplacian of u.

    `exact` uses a fixed quadrature rule. `estimate` uses `n` random points; its mean is unbiased,
    it has a standard error, and `probes` has no effect on it. All points x share the draws of one
    estimate.

    **Arguments:**

    - `over`: a region, such as [`diffop.quadrature.Limits`][]`(0.0, lambda x: x)` for $∫_0^x$, or a
        [`diffop.pde.Box`][] or [`diffop.pde.Ball`][].
    - `kernel`: a function `(*args, y)` of the point and of the coordinates that are integrated
        over, which returns a number; 1 if it is not given. For u(x, t) it is `kernel(x, t, y)`.
    - `rule`: the points of `.exact`: one of `diffop.quadrature`; by default 16 Gauss-Legendre
        points in each coordinate, for smooth functions. A kernel that is singular at an end needs
        [`diffop.quadrature.GaussJacobi`][]: without it digits are lost, and nothing tells.
    - `argnum`, `dims`: which argument of u, and which of its coordinates, are integrated over; the
        others are kept fixed. $y$ is a vector of the coordinates in `dims`, or like the argument.
    - `sampled`: False to use the rule in estimates too, for example for an integral over time that
        is added to a Laplacian in many dimensions.

    **Returns** (when applied): the structure of u's value.

    **Raises:** `TypeError` for a wrong type of region, kernel or rule; `ValueError`, when it is
    applied, for limits or a kernel of another shape, and for a Gauss rule with more than a million
    points.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        interval = do.quadrature.Limits(0.0, 1.0)
        fredholm = do.Identity() - do.Integral(interval, lambda x, y: x[0] * y[0])
        fredholm.exact(lambda x: x[0])(jnp.array([0.6]))  # 0.6 - 0.6 / 3 = 0.4
        time = do.Integral(do.quadrature.Limits(0.0, lambda x, t: t), argnum=1)
        time.exact(lambda x, t: x[0] * t)(jnp.array([2.0]), jnp.array(3.0))  # 2 · 9 / 2 = 9
        ```
    """

    over: AbstractRegion = eqx.field(converter=as_region)
    kernel: IntegralKernel | None = None
    rule: AbstractRule = GaussLegendre(16)
    argnum: int = eqx.field(static=True, default=0, converter=checked_argnum, kw_only=True)
    dims: tuple[int, ...] | None = eqx.field(
        static=True, default=None, converter=checked_dims, kw_only=True
    )
    sampled: bool = eqx.field(static=True, default=True, kw_only=True)

    def __check_init__(self) -> None:
        if not (self.kernel is None or is_function(self.kernel)):
            raise TypeError(
                "Integral expects a kernel that is a function of the point and of y, such as "
                f"lambda x, y: jnp.exp(-(x - y) @ (x - y)); got {self.kernel!r}. A number "
                "multiplies the operator: 2 * Integral(region)."
            )
        if not isinstance(self.rule, AbstractRule):
            raise TypeError(
                "Integral expects a rule of diffop.quadrature, such as GaussLegendre(16); got "
                f"{self.rule!r}."
            )

    def terms(self) -> tuple[Term, ...]:
        what = {"over": self.over, "kernel": self.kernel, "rule": self.rule}
        where = {"argnum": self.argnum, "dims": self.dims}
        return (factor_term(IntegralTerms(**where, **what, drawn=self.sampled)),)


@final
class IntegralTerms(Nonlocal):
    """∫ k(x, y) · dy."""

    over: AbstractRegion
    kernel: IntegralKernel | None
    rule: AbstractRule
    drawn: bool = eqx.field(static=True)
    exponents: ClassVar[tuple[int, ...]] = ()
    by: ClassVar[str] = "a fixed rule"
    evaluations: ClassVar[int] = 1  # pyright: ignore

    @property
    def symbol(self) -> str:
        return f"∫{'' if self.kernel is None else ' k'} dy{self.mark}"

    def exact(self, u: Callable[..., PyTree], point: Point) -> PyTree:
        points, weights = self.rule.nodes(self.dimension(point))
        dtype = point.dtype(self.argnum)

        def image(unit: Vector) -> tuple[Vector, ScalarArray]:
            return self.over.image(unit, *point.args, **point.kwargs)

        images, factors = jax.vmap(image)(jnp.asarray(points, dtype))
        values = mapped_in_chunks(
            lambda each: self._at(u, point, *each),
            (images, factors * jnp.asarray(weights, factors.dtype)),
            point.chunk,
        )
        return jax.tree.map(partial(jnp.sum, axis=0), values)

    def one(self, key: Key, u: Callable[..., PyTree], point: Point) -> PyTree:
        size = self.dimension(point)
        return self._at(u, point, *self.over.draw(key, size, *point.args, **point.kwargs))

    def _at(self, u: Callable[..., PyTree], point: Point, y: Vector, weight: ScalarArray) -> PyTree:
        """w k(x, y) u(y)."""
        there = self.at(y, point)
        if self.kernel is not None:
            weight = times_scalar(self._kernel_at(there, y, point), weight)
        return jax.tree.map(lambda leaf: times_scalar(leaf, weight), there.value_of(u))

    def _kernel_at(self, there: Point, y: Vector, point: Point) -> Array:
        assert self.kernel is not None
        own = there.args[self.argnum] if self.dims is None else y.astype(point.dtype(self.argnum))
        args, remedy = (*point.args, own), "let it take the arguments of u, and then y"
        found = called_with_point("the kernel of Integral", self.kernel, args, point.kwargs, remedy)
        value = as_floating(found, "a kernel", real=False)
        if value.shape != ():
            raise ValueError(
                "the kernel of an Integral must return a number at two points; got shape "
                f"{value.shape}."
            )
        return value

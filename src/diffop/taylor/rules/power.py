"""The rule of x^a with a constant exponent."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import final

import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ...arrays import times
from ..arithmetic import known_scalar
from ..binding import bind
from ..bundle import (
    Families,
    Family,
    Value,
    broadcast_series,
    expand_families,
    is_moving,
    primal_of,
)
from ..coefficients import Series, zeros
from ..primitive import Primitive, Rule, enter
from ..series import divided, integral, ratio_power
from .bilinear import square
from .elementwise import Derivatives, elementwise, expanded, is_narrow
from .masks import masked


def power_rule(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    if is_moving(operands[1]):
        return elementwise(families, eqn, operands)
    exponent = primal_of(operands[1])
    number = known_scalar(exponent)
    if number is None or not abs(number) <= _LARGEST:  # NaN, too
        return _power(families, eqn, operands, jnp.asarray(exponent))
    return _power(families, eqn, operands, number)


_LARGEST = 1e6
"""Known exponents up to this are lowered, or are powers of a polynomial."""


def integer_power(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    if eqn.params["y"] == 2:
        return square(families, eqn, operands)
    return _power(families, eqn, operands, float(eqn.params["y"]))


def _power(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value], exponent: float | Array
) -> list[Value]:
    """For small nonnegative integers x^a is a polynomial; other exponents are lowered below ½ by
    integration.
    """
    base = primal_of(operands[0])
    (output,) = bind(eqn, [primal_of(operand) for operand in operands])
    if isinstance(exponent, float) and exponent >= 0 and exponent.is_integer():
        degree = int(exponent)
        if not is_narrow(output):
            return _polynomial(families, operands, output, degree)
    tower = _Tower(base, exponent, output, max(family.order for family in families))

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        return [tower.series(family, broadcast_series(family, series[0], base, output), 0)]

    return expand_families(families, operands, [output], expansion)


def _polynomial(
    families: Families, operands: Sequence[Value], output: Array, degree: int
) -> list[Value]:
    """x^n has at most n derivatives."""
    base = primal_of(operands[0])
    order = min(degree, max(family.order for family in families))
    derivatives = Derivatives(_OfMonomial(degree, order), (base,), output, masked)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        moving = broadcast_series(family, series[0], base, output)
        return [expanded(family, derivatives, moving, degree)]

    return expand_families(families, operands, [output], expansion)


@final
@dataclasses.dataclass(frozen=True)
class _OfMonomial:
    """The Taylor coefficients of x^n."""

    degree: int
    order: int

    def __call__(self, values: Sequence[Array]) -> list[Array]:
        return [
            times(_monomial(values[0], self.degree - j), float(math.comb(self.degree, j)))
            for j in range(1, self.order + 1)
        ]


def _monomial(x: Array, degree: int) -> Array:
    return x if degree == 1 else lax.integer_pow(x, degree)


class _Tower:
    """x^a and its first derivatives, each the integral of the next.

    A known exponent is lowered until it is at most ½, where the recurrence of `ratio_power` starts,
    which stays in range for every x. If it is not known, all derivatives are computed directly, as
    by `jax.jvp`.
    """

    def __init__(self, base: Array, exponent: float | Array, output: Array, order: int) -> None:
        self._base = jnp.broadcast_to(base, jnp.shape(output))
        self._rest: float | None = None
        levels = order
        if isinstance(exponent, float):
            levels = min(order, max(0, math.ceil(exponent - 1 / 2)))
            self._rest = exponent - levels
        slopes = _derivatives(self._base, exponent, levels)
        self._primals = [output, *slopes]

    def series(self, family: Family, series: Series, level: int) -> Series:
        """The series of a derivative of x^a, given that of x."""
        if level + 1 < len(self._primals) and family.order:
            slopes = self.series(family.below, family.series_below(series), level + 1)
            return integral(family, self._primals[level + 1], slopes, series)
        if not self._rest:
            return zeros(len(series))
        primal, x = self._primals[level], self._base
        ratios = tuple(divided(c, family.lead(place), x, primal) for place, c in enumerate(series))
        # of roots of 0 derivatives are infinite, and of roots of ∞ they are 0: neither may be 0 · ∞
        finite = lax.select((x == 0) | jnp.isinf(x), lax.full_like(primal, 1), primal)
        return ratio_power(family, self._rest, finite, ratios)


def _derivatives(base: Array, exponent: float | Array, count: int) -> list[Array]:
    """a(a − 1)…(a − j + 1) x^{a−j} for j = 1 … count.

    If a is an integer below j the coefficient vanishes, and must win over an infinite x^{a−j}. The
    base is replaced only there, so that gradients with respect to the exponent stay correct.
    """
    exponent = jnp.asarray(exponent).astype(base.dtype)
    coefficient = jnp.ones_like(exponent)
    series = []
    for j in range(1, count + 1):
        coefficient = coefficient * (exponent - (j - 1))
        shape = jnp.shape(base)
        factor = jnp.broadcast_to(coefficient, shape)
        remaining = jnp.broadcast_to(exponent - j, shape)
        void = (factor == 0) & ~jnp.isfinite(lax.pow(base, remaining))
        x = jnp.where(void, jnp.ones_like(base), base)
        series.append(factor * lax.pow(x, remaining))
    return series


def _enter(names: str, rule: Rule, singular: bool | Callable[[jex.JaxprEqn], bool] = True) -> None:
    enter(names.split(), Primitive(rule, "elementwise", entrywise=True, singular=singular))


_enter("pow", power_rule)
_enter("integer_pow", integer_power, singular=lambda eqn: eqn.params["y"] < 0)
_enter("sqrt", functools.partial(_power, exponent=1 / 2))
_enter("rsqrt", functools.partial(_power, exponent=-1 / 2))
_enter("cbrt", functools.partial(_power, exponent=1 / 3))

"""Series of y(t) = φ(x(t)) of arrays, for a φ whose derivatives vanish together, such as tanh.
Their derivatives take no more work than the series themselves.

A small change of x(t) changes y(t) by p(t) dx(t), where p = φ′(x(t)). The series of p is found like
that of y, from mostly the same parts. Step-by-step reverse mode would compute each product twice,
and would differentiate all Taylor coefficients c_j of φ. It would also mask each product with one
of them again where it vanishes. Here the slope φ′(x) tells for all of them where that is; 0 · ∞
means 0 there.

There are two ways to find the series. *By powers* of x(t) − x_0, which are multiplied by c_2, c_3,
… for y and by 2 c_2, 3 c_3, … for p. Or, if φ solves an equation y′ = a + λ y + μ y², *by that
equation* (`series.solution`), order by order, in K² products for each entry and direction, while
powers take K³/6:

    K                            3    4    5    6    8    12
    powers                       6   14   26   44  100   322
    equation, μ = 0 (exp)        5    9   14   20   35    77
    equation (tanh, logistic)    8   14   22   31   54   118

Up to order four powers of tanh and similar functions take as few products, and have one advantage:
they are multiplied by φ″, φ‴ and φ⁗ directly, which lose no digits near their zeros. If the inputs
are lines most powers vanish, so the equation is used only if all lower orders are present.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import jax
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array

from ...algebra.algebra import Algebra
from ...arrays import times
from ...held import KnownArray
from ..bundle import Family
from ..coefficients import Coefficient, Full, Series, Zero, scale, without_notes
from ..equation import BilinearMap
from ..primitive import Form
from ..replacing.forms import PRODUCTS
from ..series import faa_di_bruno, leibniz, powers, solution
from .entry_factor import EntryFactor
from .masks import masked_whole
from .recurrences import KNOWN_ZEROS, Quadratic, Recurrence, coefficients


@final
@dataclasses.dataclass(frozen=True)
class ByPowers:
    """Faà di Bruno's formula, with coefficients from a recurrence."""

    recurrence: Recurrence

    def series(
        self, family: Family, primals: Sequence[Array], series: Series, slopes: bool
    ) -> tuple[Series, Series]:
        x, value, slope = primals
        c = coefficients(self.recurrence, x, value, slope, family.order + slopes)
        found = powers(family, value, series, family.order)
        of_slope = [times(each, j) for j, each in enumerate(c)][2:] if slopes else []
        values = _expanded(family, c[1:], primals, found)
        return values, _expanded(family, of_slope, primals, found) if slopes else ()


def _expanded(
    family: Family, coefficients: Sequence[Any], primals: Any, powers: Sequence[Series]
) -> Series:
    """Σ_j c_j [t^γ] δ(t)^j, where c_1 is the first."""
    by = [_by(each) for each in coefficients]
    return faa_di_bruno(family, lambda j, c, lead: by[j - 1](c, lead), primals[1], powers)


@final
@dataclasses.dataclass(frozen=True)
class ByEquation:
    """The equation that φ solves."""

    equation: Quadratic

    def series(
        self, family: Family, primals: Sequence[Array], series: Series, slopes: bool
    ) -> tuple[Series, Series]:
        (_, value, slope), equation = primals, self.equation
        turn, square = equation.turn, equation.square
        by_turn = _by(turn(value)) if square else _by_number(equation.linear)
        by_slope = _by(slope)
        return solution(family, value, series, by_slope, by_turn, square, not slopes)


CompositionWay: TypeAlias = ByPowers | ByEquation
"""How the series of φ(x(t)), and that series together with the one of φ′(x(t)), are found from x,
φ(x), φ′(x) and a series of arrays without top coefficients.
"""


def way(
    recurrence: Recurrence, equation: Quadratic | None, family: Family, series: Series
) -> CompositionWay:
    """The equation if it is shorter and loses no digits, for arrays of all lower orders."""
    every = all(isinstance(c, Full) for c in family.series_below(series))
    # elementwise functions come here from order three on, where the counts above say that the
    # equation is shorter; with a square it is used only beyond the orders whose zeros powers know
    if equation is None or not every or (equation.square and family.order <= KNOWN_ZEROS):
        return ByPowers(recurrence)
    return ByEquation(equation)


def composed_series(
    way: CompositionWay, family: Family, primals: Sequence[Array], series: Series
) -> Series:
    """The series of φ(x(t)) from x, φ(x) and φ′(x). Collapsed coefficients of x are multiplied by
    φ′(x).
    """
    _, value, slope = primals
    by_slope = _by(slope)
    lower = tuple(map(without_notes, family.without_tops(series)))
    # weights that are traced cannot be static data of a function: jets are then collapsed here
    known = family.weights is not None and not isinstance(family.weights, jax.Array)
    weights = KnownArray(family.weights) if known else None
    found = _composed(_Setting(way, family.algebra, family.size, weights), *primals, lower)
    rest = found if known else family.collapse_tops(found, value)
    linear = {place: by_slope(series[place], family.lead(place)) for place in family.algebra.tops}
    return family.plus_tops(rest, linear, value)


@final
@dataclasses.dataclass(frozen=True)
class _Setting:
    """The static data: how jets are pushed, and which jets. Known weights collapse them."""

    way: CompositionWay
    algebra: Algebra
    size: int | None
    weights: KnownArray | None

    @property
    def family(self) -> Family:
        weights = None if self.weights is None else self.weights.array
        return Family(weights=weights, algebra=self.algebra, size=self.size)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _composed(jets: _Setting, x: Array, value: Array, slope: Array, lower: Series) -> Series:
    """The coefficients of φ(x(t)), at top places without the part of x's own top coefficients. They
    are masked in the loops that compute them.
    """
    slope = checkpoint_name(slope, PRODUCTS)
    found, _ = jets.way.series(jets.family, (x, value, slope), lower, False)
    return _masked(slope, found)


@_composed.defjvp
def _composed_jvp(
    jets: _Setting, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Series, Series]:
    """φ(x) and φ′(x) change as x does, which p(t) dx(t) includes. The inputs of both series are
    masked once for both.
    """
    (x, value, slope, lower), (dx, _, _, along) = primals, tangents
    lower, along = (_masked(slope, each) for each in (lower, along))
    values, slopes = jets.way.series(jets.family, (x, value, slope), lower, True)
    product = BilinearMap(Form.ENTRYWISE, {}, lax.mul, (slope, dx), value)
    moved = leibniz(jets.family, product, slopes, along)
    return tuple(map(without_notes, values)), tuple(map(without_notes, moved))


def _masked(slope: Array, series: Series) -> Series:
    """Arrays masked where the slope vanishes."""
    factor = EntryFactor(slope)
    return tuple(masked_whole(without_notes(c), factor) for c in series)


def _by(array: Array) -> Callable[[Coefficient, int], Coefficient]:
    factor = EntryFactor(array)

    def multiplied(coefficient: Coefficient, lead: int) -> Coefficient:
        if not isinstance(coefficient, Full):
            return Zero()
        return Full(factor.times(coefficient.base, lead), coefficient.factor)

    return multiplied


def _by_number(number: float) -> Callable[[Coefficient, int], Coefficient]:
    return lambda coefficient, _: scale(coefficient, number)

"""Series of functions that solve an equation y′ = a + λ y + μ y², by that equation.

For y(t) = φ(x(t)) it gives each order in turn from lower ones (`series.solution`), in K² products
for each entry and direction where powers of the directions take K³/6:

    K                            3    4    5    6    8    12
    powers                       6   14   26   44  100   322
    equation, μ = 0 (exp)        5    9   14   20   35    77
    equation (tanh, logistic)    8   14   22   31   54   118

Powers have one advantage: they meet φ″, φ‴ and φ⁗ themselves, of which nothing is lost next to
their zeros, and where lines go in most powers vanish. So the equation is taken where it is shorter
and all orders are there.

Its derivative is no longer than itself. A small change of x(t) changes y(t) by p(t) dx(t), p =
φ′(x(t)), and the series of p has been found with that of y. Differentiated step by step reverse
mode would take each product twice.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias, final

import jax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array

from ..arithmetic import total
from ..bundle import Family
from ..coefficients import Coefficient, Full, Series, Zero, scale
from ..replacing.forms import PRODUCTS
from ..series import derivative_along, products_by_powers, products_by_solution, solution
from ..truncation import Truncation
from .entry_factor import EntryFactor
from .recurrences import Quadratic

Settled: TypeAlias = Callable[[Coefficient, EntryFactor], Coefficient]
"""A coefficient that is to be multiplied with a factor, without what may not count there."""


def is_shorter(equation: Quadratic, family: Family, series: Series) -> bool:
    """Whether the equation takes fewer products than powers do, for arrays of all lower orders."""
    lower = family.series_below(series)
    return all(isinstance(c, Full) for c in lower) and _is_shorter(equation, family.truncation)


@functools.cache
def _is_shorter(equation: Quadratic, truncation: Truncation) -> bool:
    square = equation.square
    return products_by_solution(truncation, square) < products_by_powers(truncation)


def solved(
    equation: Quadratic,
    family: Family,
    primals: Sequence[Array],
    series: Series,
) -> Series:
    """The series of φ(x(t)) from x, φ(x) and φ′(x). What comes in collapsed is multiplied with
    φ′(x), as it stands; the rest of a top place is collapsed here.

    Where φ′(x) vanishes all of p(t) does, whatever finite coefficients x(t) has; so there they are
    left out, and 0 · ∞ stands for 0.
    """
    _, value, slope = primals
    factor = EntryFactor(slope)
    lower = [c for c in family.series_below(series) if isinstance(c, Full)]
    arrays = [Full(factor.settled(c.base, whole=True), c.factor).array for c in lower]
    how = _How(equation, family.truncation, family.size)
    result: list[Coefficient] = []
    for place, array in enumerate(_solved(how, *primals, *arrays)):
        found: Coefficient = Full(array)
        if family.is_top(place):
            lead = family.lead(place)
            linear = _by(factor)(series[place], lead)
            found = total([linear, family.collapse(found, value)], lead, value)
        result.append(found)
    return tuple(result)


@final
@dataclasses.dataclass(frozen=True)
class _How:
    equation: Quadratic
    truncation: Truncation
    size: int | None

    @property
    def family(self) -> Family:
        """The jets, uncollapsed."""
        return Family(weights=None, truncation=self.truncation, size=self.size)

    def series(self, lower: Sequence[Array]) -> Series:
        """Arrays of the lower orders as a series without top coefficients."""
        rest = iter(lower)
        places = range(len(self.truncation))
        return tuple(Zero() if p in self.truncation.tops else Full(next(rest)) for p in places)

    def solution(
        self, value: Array, slope: Array, lower: Sequence[Array], slopes_below: bool = False
    ) -> tuple[Series, Series]:
        turn, square = self.equation.turn, self.equation.square
        by_turn = _by(EntryFactor(turn(value))) if square else _by_number(self.equation.linear)
        by_slope = _by(EntryFactor(slope))
        return solution(
            self.family, value, self.series(lower), by_slope, by_turn, square, slopes_below
        )


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _solved(how: _How, x: Array, value: Array, slope: Array, *lower: Array) -> tuple[Array, ...]:
    """The coefficients of φ(x(t)) jet by jet, at the top places without what x has there."""
    values, _ = how.solution(value, checkpoint_name(slope, PRODUCTS), lower, slopes_below=True)
    return _arrays(values)


@_solved.defjvp
def _solved_jvp(
    how: _How, primals: Sequence[Array], tangents: Sequence[Array]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """φ(x) and φ′(x) move as x does: p(t) dx(t) knows of it."""
    (_, value, slope, *lower), (dx, _, _, *along) = primals, tangents
    values, slopes = how.solution(value, slope, lower)
    by_slope, by_tangent = _by(EntryFactor(slope)), _by(EntryFactor(dx))
    moved = derivative_along(how.family, value, slopes, how.series(along), by_slope, by_tangent)
    return _arrays(values), _arrays(moved)


def _by(factor: EntryFactor) -> Callable[[Coefficient, int], Coefficient]:
    def times(coefficient: Coefficient, lead: int) -> Coefficient:
        if not isinstance(coefficient, Full):
            return Zero()
        return Full(factor.times(coefficient.base, lead), coefficient.factor)

    return times


def _by_number(number: float) -> Callable[[Coefficient, int], Coefficient]:
    return lambda coefficient, _: scale(coefficient, number)


def _arrays(series: Series) -> tuple[Array, ...]:
    return tuple(c.array for c in series if isinstance(c, Full))

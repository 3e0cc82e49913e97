"""Linear equations in rational numbers."""

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any


def solve(
    columns: Sequence[Mapping[Any, Fraction]], target: Mapping[Any, Fraction]
) -> list[Fraction] | None:
    """Numbers w with Σ_r w_r columns[r] = target, or None where there are none.

    Columns are taken in order; one that depends on those before it gets zero. By Gaussian
    elimination: of each column a reduced form is kept, with what it is a combination of.
    """
    reduced: dict[Hashable, tuple[dict[Hashable, Fraction], dict[int, Fraction]]] = {}
    for number, column in enumerate(columns):
        rest, combination = _reduce(dict(column), {number: Fraction(1)}, reduced)
        if rest:
            pivot = next(iter(rest))
            reduced[pivot] = (rest, combination)
    rest, combination = _reduce(dict(target), {}, reduced)
    if rest:
        return None
    return [-combination.get(number, Fraction(0)) for number in range(len(columns))]


def _reduce(
    vector: dict[Hashable, Fraction],
    combination: dict[int, Fraction],
    reduced: Mapping[Hashable, tuple[dict[Hashable, Fraction], dict[int, Fraction]]],
) -> tuple[dict[Hashable, Fraction], dict[int, Fraction]]:
    """The vector less multiples of the reduced columns, so that it has none of their pivots."""
    for pivot, (column, parts) in reduced.items():
        if pivot in vector:
            factor = vector[pivot] / column[pivot]
            _subtract(vector, column, factor)
            _subtract(combination, parts, factor)
    return vector, combination


def _subtract(vector: dict, other: Mapping, factor: Fraction) -> None:
    for key, value in other.items():
        difference = vector.get(key, Fraction(0)) - factor * value
        if difference:
            vector[key] = difference
        else:
            vector.pop(key, None)

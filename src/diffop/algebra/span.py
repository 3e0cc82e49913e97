"""Linear algebra in exact fractions."""

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, final

Vector: TypeAlias = dict[Any, Fraction]
"""Entries by their names; those that are missing are 0."""


@final
class Span:
    """Vectors with names, one after the other, by Gaussian elimination: of each that those before
    it do not span a reduced form is kept, with what it is a combination of.
    """

    def __init__(self, vectors: Iterable[tuple[Hashable, Mapping[Any, Fraction]]] = ()):
        self._rows: dict[Hashable, tuple[Vector, Vector]] = {}
        for name, vector in vectors:
            self.add(name, vector)

    def add(self, name: Hashable, vector: Mapping[Any, Fraction]) -> bool:
        """Whether a vector was not in the span before; it is now."""
        rest, combination = self._reduced(vector)
        if rest:
            self._rows[next(iter(rest))] = rest, {name: Fraction(1)} | combination
        return bool(rest)

    def coordinates(self, vector: Mapping[Any, Fraction]) -> Vector | None:
        """A vector as a combination of those that were added; None for one outside of their span.
        Those that depended on earlier ones have no part in it.
        """
        rest, combination = self._reduced(vector)
        return None if rest else {name: -number for name, number in combination.items()}

    def _reduced(self, vector: Mapping[Any, Fraction]) -> tuple[Vector, Vector]:
        """The vector less multiples of the reduced ones, so that it has none of their pivots, and
        what was added to it for that.
        """
        rest = {name: number for name, number in vector.items() if number}
        combination: Vector = {}
        for pivot, (row, parts) in self._rows.items():
            if pivot in rest:
                factor = rest[pivot] / row[pivot]
                _subtract(rest, row, factor)
                _subtract(combination, parts, factor)
        return rest, combination


def _subtract(vector: Vector, other: Vector, factor: Fraction) -> None:
    for name, number in other.items():
        difference = vector.get(name, Fraction(0)) - factor * number
        if difference:
            vector[name] = difference
        else:
            vector.pop(name, None)

"""Linear algebra in exact fractions."""

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, final

ExactVector: TypeAlias = dict[Any, Fraction]
"""Entries by name; missing entries are 0."""


@final
class Span:
    """The span of named vectors, by Gaussian elimination. For each vector that the earlier ones do
    not span, it keeps a reduced form and the combination that gives it.
    """

    def __init__(self, vectors: Iterable[tuple[Hashable, Mapping[Any, Fraction]]] = ()):
        self._rows: dict[Hashable, tuple[ExactVector, ExactVector]] = {}
        for name, vector in vectors:
            self.add(name, vector)

    def add(self, name: Hashable, vector: Mapping[Any, Fraction]) -> bool:
        """Adds a vector; returns whether it was outside of the span before."""
        rest, combination = self._reduced(vector)
        if rest:
            self._rows[next(iter(rest))] = rest, {name: Fraction(1)} | combination
        return bool(rest)

    def coordinates(self, vector: Mapping[Any, Fraction]) -> ExactVector | None:
        """A vector as a combination of the added vectors; None if it is outside of their span.
        Vectors that depended on earlier ones have the coefficient 0.
        """
        rest, combination = self._reduced(vector)
        return None if rest else {name: -number for name, number in combination.items()}

    def _reduced(self, vector: Mapping[Any, Fraction]) -> tuple[ExactVector, ExactVector]:
        """The vector minus multiples of the reduced ones, so that it has 0 at their pivots, and the
        combination that was added to achieve this.
        """
        rest = {name: number for name, number in vector.items() if number}
        combination: ExactVector = {}
        for pivot, (row, parts) in self._rows.items():
            if pivot in rest:
                factor = rest[pivot] / row[pivot]
                _subtract(rest, row, factor)
                _subtract(combination, parts, factor)
        return rest, combination


def _subtract(vector: ExactVector, other: ExactVector, factor: Fraction) -> None:
    for name, number in other.items():
        difference = vector.get(name, Fraction(0)) - factor * number
        if difference:
            vector[name] = difference
        else:
            vector.pop(name, None)

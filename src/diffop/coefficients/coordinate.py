"""Coordinates: sums of indices of named axes, such as 3 i + j."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from .index import Index, Range


@final
class Coordinate(NamedTuple):
    """The place along one axis of an array: a number plus an index of each of some axes."""

    const: int
    terms: dict[int, Index]

    @property
    def is_traced(self) -> bool:
        """Whether some of its numbers are known only at run time."""
        return any(index.is_traced for index in self.terms.values())

    @property
    def steps(self) -> dict[int, int] | None:
        """The step of each axis if all indices are ranges from 0 on; otherwise None."""
        steps = {n: index.step for n, index in self.terms.items() if isinstance(index, Range)}
        return steps if len(steps) == len(self.terms) else None

    def named(self, names: Sequence[int]) -> "Coordinate":
        """The same with a name for each axis, which is a number so far."""
        return Coordinate(self.const, {names[n]: index for n, index in self.terms.items()})

    def numbers(self, sizes: Mapping[int, int]) -> Any:
        """Its numbers at places of axes with some sizes, as an array that broadcasts to them."""
        total: Any = np.full((1,) * len(sizes), self.const, np.int32)
        for name, size in sizes.items():
            if name in self.terms:
                shape = [-1 if other == name else 1 for other in sizes]
                total = total + self.terms[name].numbers(size).reshape(shape)
        return total

    def scaled(self, factor: int, shift: int = 0) -> "Coordinate":
        """`factor` times it, plus `shift`."""
        terms = {n: index.scaled(factor, 0) for n, index in self.terms.items()}
        return Coordinate(factor * self.const + shift, terms)

    def minus(self, other: "Coordinate") -> "Coordinate":
        """The difference, for coordinates without a common axis."""
        return Coordinate(self.const - other.const, {**self.terms, **other.scaled(-1).terms})


NOWHERE = Coordinate(0, {})
"""The coordinate along an axis of size one."""


def at(name: int, index: Index) -> Coordinate:
    """An index of one axis."""
    return Coordinate(0, {name: index})


def along(name: int, step: int = 1, start: int = 0) -> Coordinate:
    """One axis times a step, plus a start."""
    return stepped(start, {name: step})


def variables(count: int, first: int = 0) -> tuple[Coordinate, ...]:
    """Consecutive axes, each by itself."""
    return tuple(along(first + v) for v in range(count))


def stepped(const: int, steps: dict[int, int]) -> Coordinate:
    """Axes times their steps, plus a number."""
    return Coordinate(const, {n: Range(0, step) for n, step in steps.items()})

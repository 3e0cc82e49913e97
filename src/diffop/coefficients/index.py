"""Indices: a number for each place along an axis, by a rule, by a table, or known only at run time.

Known indices are compared by content, others by the source of their array.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ..held import KnownArray
from ..record import record, static
from ..source import Source


@final
class Range(NamedTuple):
    """k ↦ `start + step · k`."""

    start: int = 0
    step: int = 1
    is_traced = False

    def numbers(self, size: int) -> np.ndarray:
        """The numbers at the places 0 … size − 1."""
        return self.start + self.step * np.arange(size, dtype=np.int32)

    def bounds(self, size: int) -> tuple[int, int]:
        """The least and the largest number."""
        ends = self.start, self.start + self.step * max(0, size - 1)
        return min(ends), max(ends)

    def scaled(self, factor: int, shift: int) -> "Range":
        """`factor` times the numbers, plus `shift`."""
        return Range(factor * self.start + shift, factor * self.step)


@final
class Table(KnownArray):
    """k ↦ `array[k]`, known while tracing.

    !!! example

        ```python
        import numpy as np
        import diffop as do

        do.taylor.Table(np.array([3, 1, 2])).bounds(3)  # (1, 3)
        ```
    """

    is_traced = False

    def __init__(self, array: Any) -> None:
        super().__init__(np.asarray(array, dtype=np.int32))

    def numbers(self, size: int) -> np.ndarray:
        """The numbers at the places 0 … size − 1."""
        return self.array

    def bounds(self, size: int) -> tuple[int, int]:
        """The least and the largest number."""
        return (int(self.array.min()), int(self.array.max())) if size else (0, 0)

    def scaled(self, factor: int, shift: int) -> "Table":
        """`factor` times the numbers, plus `shift`."""
        return self if (factor, shift) == (1, 0) else Table(factor * self.array + shift)


@final
@record
class Traced:
    """k ↦ `array[k]`, for an array of the program with numbers from `low` to `high`. Two are equal
    if their sources are.
    """

    array: Int[Array | np.ndarray, " n"]
    source: Source = static()
    low: int = static()
    high: int = static()
    is_traced = True

    def numbers(self, size: int) -> Any:
        """The numbers at the places 0 … size − 1."""
        return self.array

    def bounds(self, size: int) -> tuple[int, int]:
        """The least and the largest number."""
        return self.low, self.high

    def scaled(self, factor: int, shift: int) -> "Traced":
        """`factor` times the numbers, plus `shift`."""
        if (factor, shift) == (1, 0):
            return self
        low, high = sorted((factor * self.low + shift, factor * self.high + shift))
        name = Source(("scaled", factor, shift), self.source)
        return Traced(factor * self.array + shift, name, low, high)

    def within(self, most: int) -> "Traced":
        """The numbers clipped to 0 … `most`."""
        name = Source(("within", most), self.source)
        low, high = (min(max(end, 0), most) for end in (self.low, self.high))
        return Traced(self.array.clip(0, most), name, low, high)

    def divided(self, by: int) -> tuple["Traced", "Traced"]:
        """The quotients and the remainders."""
        whole, rest = (Source((step, by), self.source) for step in ("whole", "rest"))
        return (
            Traced(self.array // by, whole, self.low // by, self.high // by),
            Traced(self.array % by, rest, 0, by - 1),
        )

    def __hash__(self) -> int:
        return hash(self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Traced) and self.source == other.source


Index: TypeAlias = Range | Table | Traced

for _known in (Range, Table):
    jax.tree_util.register_static(_known)


def _name(index: Index) -> Hashable:
    return index.source if isinstance(index, Traced) else index


def nearest_entries(array: Any, places: Any) -> Any:
    """An array's entries at some places, the nearest ones for places outside. Negative numbers are
    outside, too: to count them from the end would take operations on all numbers.
    """
    return jnp.asarray(array).at[places].get(mode="clip", wrap_negative_indices=False)


def known(numbers: Any) -> Range | Table:
    """An index from its numbers: a range if they form one."""
    array = np.asarray(numbers)
    if array.size < 2:
        return Range(int(array[0]) if array.size else 0, 0)
    step = int(array[1]) - int(array[0])
    return Range(int(array[0]), step) if (np.diff(array) == step).all() else Table(array)


def taken(index: Index, places: Index, size: int) -> Index:
    """The numbers of an index at `size` places."""
    if isinstance(index, Range):
        return places.scaled(index.step, index.start)
    if isinstance(index, Table) and not isinstance(places, Traced):
        return known(index.array[places.numbers(size)])
    if places == Range(0, 1) and isinstance(index, Traced) and index.array.size == size:
        return index
    array = nearest_entries(index.array, places.numbers(size))
    low, high = index.bounds(size)
    if isinstance(index, Table):
        assert isinstance(places, Traced)
        return Traced(array, Source(("in", index), places.source), low, high)
    return Traced(array, Source(("at", _name(places), size), index.source), low, high)


def sum_of_indices(left: Index, right: Index, size: int) -> Index:
    """The sums of the numbers of two indices along one axis."""
    if isinstance(left, Range) and isinstance(right, Range):
        return Range(left.start + right.start, left.step + right.step)
    first, second = (right, left) if isinstance(right, Traced) else (left, right)
    if not isinstance(first, Traced):
        return known(left.numbers(size) + right.numbers(size))
    ends = (a + b for a, b in zip(left.bounds(size), right.bounds(size), strict=True))
    array = first.array + jnp.asarray(second.numbers(size)).astype(first.array.dtype)
    return Traced(array, Source(("plus", _name(second)), first.source), *ends)


def places_of(numbers: np.ndarray, index: Range | Table, size: int) -> np.ndarray | None:
    """The place at which an index with `size` places has each of some numbers, −1 if it has not;
    None if a number occurs several times.
    """
    if isinstance(index, Range):
        places, rest = np.divmod(numbers - index.start, index.step or 1)
        there = (rest == 0) & (places >= 0) & (places < size)
        return np.where(there, places, -1) if index.step or size == 1 else None
    low, high = index.bounds(size)
    table = np.full(high - low + 1, -1, np.int32)
    table[index.array - low] = np.arange(size)
    if not np.array_equal(table[index.array - low], np.arange(size)):
        return None
    inside = (numbers >= low) & (numbers <= high)
    return np.where(inside, table[np.where(inside, numbers - low, 0)], -1)

"""Numbers of directions, known while tracing: which direction moves which entry."""

import functools
from collections.abc import Sequence
from typing import Any, final

import numpy as np

_FEW = 8
"""So many columns are sorted by exchanging them."""


@final
class Numbers:
    """An array of direction numbers `(s, *shape)`, −1 where there is none; compared by content.

    Static in the coefficients that hold it, so that every question about it is answered once, by
    numpy.

    !!! example

        ```python
        import numpy as np
        import diffop as do

        do.taylor.Numbers(np.array([[3, 4, -1]])).known  # [[True, True, False]]
        ```
    """

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array, dtype=np.int32)

    @property
    def count(self) -> int:
        """s: how many directions an entry depends on at most."""
        return self.array.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape[1:]

    @functools.cached_property
    def known(self) -> np.ndarray:
        return self.array >= 0

    @functools.cached_property
    def full(self) -> bool:
        """Every entry has all its s directions."""
        return bool(self.known.all())

    @functools.cached_property
    def anywhere(self) -> np.ndarray:
        """The numbers, any for what is not there."""
        return self.array if self.full else self.array.clip(0)

    @functools.cached_property
    def run(self) -> int | None:
        """The first number, where the entries are numbered consecutively in row-major order."""
        flat = self.array.reshape(-1)
        if self.count != 1 or flat.size == 0 or flat[0] < 0:
            return None
        first = int(flat[0])
        return first if np.array_equal(flat, np.arange(first, first + flat.size)) else None

    @functools.cached_property
    def turned_run(self) -> int | None:
        """The first number, where the entries are numbered consecutively in column-major order:
        the directions of each entry one after another, and none behind the last.
        """
        flat = self.array.reshape(self.count, -1).T.reshape(-1)
        size = int(np.count_nonzero(flat >= 0))
        if size == 0 or flat[0] < 0:
            return None
        first = int(flat[0])
        return first if np.array_equal(flat[:size], np.arange(first, first + size)) else None

    def along(self, axis: int) -> np.ndarray | None:
        """The numbers without an axis of the entries, where all that there are along it are the
        same.
        """
        most = self.array.max(axis=axis + 1, keepdims=True, initial=-1)
        same = bool(((self.array == most) | ~self.known).all())
        return most.squeeze(axis + 1) if same else None

    def is_identity(self, size: int) -> bool:
        """Entry i moves along direction i, for all directions."""
        return self.run == 0 and self.array.size == size

    @functools.cached_property
    def different(self) -> bool:
        """No entry depends on one direction twice."""
        ordered = _ascending(self.array)
        return not bool(((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0)).any())

    @functools.cached_property
    def united(self) -> "Numbers":
        """Each direction of an entry once, in ascending order."""
        none = np.iinfo(np.int32).max  # behind all that there are
        ordered = _ascending(np.where(self.known, self.array, none))
        repeated = ordered[1:] == ordered[:-1]
        if (repeated & (ordered[1:] < none)).any():
            ordered[1:][repeated] = none
            ordered = _ascending(ordered)
        count = max(1, int((ordered < none).reshape(self.count, -1).any(axis=1).sum()))
        return Numbers(np.where(ordered < none, ordered, -1)[:count])

    def shared(self, axes: Sequence[int]) -> "Numbers":
        """Without these axes of the entries: each direction of all entries along them once."""
        rest = [axis for axis in range(len(self.shape)) if axis not in axes]
        order = (0, *(axis + 1 for axis in axes), *(axis + 1 for axis in rest))
        turned = self.array.transpose(order)
        return Numbers(turned.reshape(-1, *(self.shape[axis] for axis in rest))).united

    @functools.cached_property
    def injective(self) -> bool:
        """No direction moves two entries."""
        return are_different(self.array[self.known])

    @functools.cached_property
    def _digest(self) -> int:
        return hash((self.array.shape, self.array.tobytes()))

    def __hash__(self) -> int:
        return self._digest

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Numbers) and np.array_equal(self.array, other.array)


def are_different(numbers: np.ndarray) -> bool:
    """Whether none of these numbers of entries or directions occurs twice. A mask as long as the
    largest one tells; sorting or hashing takes a hundred times as long.
    """
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, bool)
    seen[numbers] = True
    return int(np.count_nonzero(seen)) == numbers.size


def _ascending(columns: np.ndarray) -> np.ndarray:
    """Each entry's numbers in ascending order. NumPy sorts along the axis it is told to entry by
    entry, so a few columns are compared and exchanged as a whole.
    """
    if columns.shape[0] > _FEW:
        return np.sort(columns, axis=0)
    ordered = columns.copy()
    for last in range(columns.shape[0] - 1, 0, -1):
        for j in range(last):
            pair = ordered[j : j + 2]
            pair[:] = np.stack([pair.min(axis=0), pair.max(axis=0)])
    return ordered


def readers(sources: np.ndarray, count: int) -> np.ndarray:
    """For each position the places that read it, −1 where there are fewer: `(count, most)`."""
    places = np.flatnonzero(sources >= 0)
    read = sources[places]
    if are_different(read):
        table = np.full((count, 1), -1, dtype=np.int32)
        table[read, 0] = places
        return table
    order = np.argsort(read, kind="stable")
    places, read = places[order], read[order]
    starts = np.searchsorted(read, np.arange(count))
    rank = np.arange(read.size) - starts[read]
    table = np.full((count, int(rank.max(initial=0)) + 1), -1, dtype=np.int32)
    table[read, rank] = places
    return table

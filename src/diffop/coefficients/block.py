"""Blocks: arrays whose axes say which directions and which entries they belong to.

A coefficient of a value is, in meaning, an array c with one coordinate for the direction and one
for each axis of the value. A block is a part of it,

    c[o + Σ_a i_a(k_a)] += factor · values[k].

Each axis a of `values` adds an index i_a to the direction, to coordinates of the entry, to several
of these or to all, and o is the `origin`. This one form covers all kinds of sparsity, see
[blocks](../../devdocs/blocks.md).
"""

import math
from typing import Any, final

import jax.numpy as jnp

from ..array_types import AnyArray
from ..record import record, static
from .coordinate import Coordinate
from .index import Index, Range


@final
@record
class Axis:
    """An axis with `size` places, and the index that it adds to each coordinate (None for nothing):
    first the direction, then the axes of the value.
    """

    size: int = static()
    adds: tuple[Index | None, ...]

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Axis) and self.size == other.size
        return same and self.adds == other.adds  # pyright: ignore

    def __hash__(self) -> int:
        return hash((self.size, self.adds))


@final
@record
class Block:
    """A part of a coefficient. `values` may have size one along an axis where they are all equal;
    None means ones.
    """

    values: AnyArray | None
    axes: tuple[Axis, ...]
    origin: tuple[int, ...] = static()
    factor: float | int = static(default=1)

    @property
    def size(self) -> int:
        """How many places of the coefficient it covers."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def place(self) -> tuple[Any, ...]:
        """The key of its places: blocks with equal keys are added entry by entry."""
        return self.axes, self.origin

    def written(self, dtype: Any) -> Any:
        """The values without the factor; ones are written out."""
        return jnp.ones((1,) * len(self.axes), dtype) if self.values is None else self.values

    def with_values(self, values: Any, factor: float | int | None = None) -> "Block":
        """Other values at the same places."""
        factor = self.factor if factor is None else factor
        return Block(values, self.axes, self.origin, factor)


def of_array(array: Any) -> Block:
    """An array `(n, *shape)` as a block."""
    shape = jnp.shape(array)
    axes = tuple(
        Axis(size, tuple(Range() if u == v else None for u in range(len(shape))))
        for v, size in enumerate(shape)
    )
    return Block(array, axes, (0,) * len(shape))


def coordinates(block: Block) -> list[Coordinate]:
    """The direction and the entry of each place, as sums of indices of the numbered axes."""
    found = []
    for c, first in enumerate(block.origin):
        adds = {a: axis.adds[c] for a, axis in enumerate(block.axes)}
        found.append(Coordinate(first, {a: i for a, i in adds.items() if i is not None}))
    return found


def places_in(block: Block) -> list[Any]:
    """The numbers of each coordinate, as arrays that broadcast to the block's axes."""
    sizes = {a: axis.size for a, axis in enumerate(block.axes)}
    return [each.numbers(sizes) for each in coordinates(block)]

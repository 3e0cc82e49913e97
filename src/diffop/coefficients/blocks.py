"""Coefficients that are sums of blocks, and the operations on them."""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias, final

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..arrays import at_run_time, plus, times
from ..devices import zeros_for
from ..record import record, static
from ..source import Source
from .block import Block, places_in
from .coordinate import NOWHERE, Coordinate, along, at
from .equations import solve_equations
from .index import Range, Traced, nearest_entries
from .relations import Relation, unchanged
from .tied_product import TiedProduct, Unstructured

_PARTS = 64
"""A sum of more blocks than this becomes an array."""


@final
@record
class Blocks:
    """A coefficient as a sum of blocks, for a value of some `shape` after the axis of directions.
    If it has one number $y_r$ for each basis vector, `source` is the name of y: the program may
    have computed the sum $Σ_r y_r ℓ(e_r) = ℓ(y)$ of a linear map already (`taylor/notes.py`).

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        # all the basis vectors of a million variables, without a number for each
        basis = do.taylor.basis((1_000_000,))
        jets = do.taylor.Jets(((basis,), (None,)), weights=jnp.ones(1_000_000), top_only=True)
        x = jnp.ones(1_000_000)
        do.taylor.push(lambda x: jnp.sum(x**3), (x,), [jets]).derivatives[0][1]  # 6000000
        ```
    """

    parts: tuple[Block, ...]
    shape: tuple[int, ...] = static()
    source: Source | None = static(default=None)

    def named_as(self, other: "Blocks") -> "Blocks":
        """With the source of another coefficient if it holds the same arrays, times any numbers."""
        same = len(self.parts) == len(other.parts) and all(
            a.values is b.values for a, b in zip(self.parts, other.parts, strict=True)
        )
        return Blocks(self.parts, self.shape, other.source if same else None)

    @property
    def size(self) -> int:
        """How many places the blocks cover; overlaps count several times."""
        return sum(part.size for part in self.parts)

    @property
    def is_sparse(self) -> bool:
        """Whether the blocks hold fewer numbers than an array."""
        return self.size < math.prod(self.shape) and len(self.parts) <= _PARTS


def collected(parts: Sequence[Block | None], shape: tuple[int, ...]) -> Blocks:
    """The sum of blocks, with blocks at the same places added."""
    found: list[Block] = []
    for part in parts:
        if part is None:
            continue
        same = [i for i, each in enumerate(found) if each.place == part.place]
        if same:
            found[same[0]] = _added(found[same[0]], part)
        else:
            found.append(part)
    return Blocks(tuple(found), shape)


def _added(left: Block, right: Block) -> Block:
    if left.values is right.values:
        return left.with_values(left.values, left.factor + right.factor)
    if left.factor == right.factor and left.values is not None and right.values is not None:
        return left.with_values(plus(left.values, right.values))
    first, second = (
        each.factor if each.values is None else times(each.values, each.factor)
        for each in (left, right)
    )
    return left.with_values(first + second, 1)


CollapsedWeights: TypeAlias = Any
"""How the directions of two coefficients meet: None for each direction separately, a number for a
sum with that weight, an array `(n,)` for a weighted sum, `(m, n)` for m of them; if every direction
meets every other, `(n, n)` or `(m, n, n)`.
"""


def common_weight(weights: Any) -> float | None:
    """The common value of known, real, equal weights; otherwise None."""
    known = isinstance(weights, np.ndarray) and not np.iscomplexobj(weights)
    if not known or weights.ndim != 1 or weights.size == 0:
        return None
    return float(weights[0]) if (weights == weights[0]).all() else None


def moved(c: Blocks, relation: Relation, dtype: Any) -> Blocks | None:
    """The image of a coefficient under a linear relation; None if it becomes an array."""
    return multiplied([c], [None], relation, None, dtype)


def collapsed(c: Blocks, weights: CollapsedWeights, dtype: Any) -> Blocks:
    """Σ_r w_r c_r."""
    result = multiplied([c], [None], unchanged(c.shape[1:]), weights, dtype, summed=1)
    assert result is not None
    return result


def multiplied(
    coefficients: Sequence[Blocks | None],
    arrays: Sequence[Any],
    relation: Relation,
    weights: CollapsedWeights,
    dtype: Any,
    summed: int = 0,
    **how: Any,
) -> Blocks | None:
    """A relation of coefficients, and of arrays where these are None. It goes direction by
    direction, or is `summed` over all directions with weights, whose last axes (one, or two for
    pairs of directions) these are; None if it becomes an array.
    """
    moving = [each for each in coefficients if each is not None]
    count = math.prod(jnp.shape(weights)[:-summed]) if summed else moving[0].shape[0]
    shape = (count, *relation.shape)
    most = math.inf if summed else math.prod(shape)
    given = coefficients, arrays, relation, weights, dtype, summed, most, how
    try:
        parts = [_part(pair, *given) for pair in itertools.product(*(c.parts for c in moving))]
    except Unstructured:
        return None
    return collected(parts, shape)


def _part(
    pair: Sequence[Block],
    coefficients: Sequence[Blocks | None],
    arrays: Sequence[Any],
    relation: Relation,
    weights: CollapsedWeights,
    dtype: Any,
    summed: int,
    most: int | float,
    how: dict[str, Any],
) -> Block | None:
    """The relation of one block of each coefficient."""
    product, blocks = TiedProduct(most), iter(pair)
    found = [[] if c is None else product.add_block(next(blocks)) for c in coefficients]
    directions, places = [each[0] for each in found if each], [each[1:] for each in found]
    output = relation.tie(product, places, arrays)
    product.outputs = [_direction(product, directions, weights, summed), *output]
    solve_equations(product)
    return product.result(dtype, **how)


def _direction(
    product: TiedProduct, directions: list[Coordinate], weights: CollapsedWeights, summed: int
) -> Coordinate:
    """The coordinate of the result's direction, from directions that meet."""
    for other in directions[1:] if summed < 2 else ():
        product.equate(directions[0], other)
    if not summed:
        return directions[0]
    if np.ndim(weights) == 0:
        product.number *= float(weights)
        return NOWHERE
    met, own = directions[:summed], jnp.shape(weights)[-summed:]
    if math.prod(jnp.shape(weights)[:-summed]) == 1:
        product.add_array(jnp.reshape(weights, own), met)
        return NOWHERE
    weights = jnp.reshape(weights, (-1, *own))
    row = along(product.new_axis(weights.shape[0]))
    product.add_array(weights, [row, *met])
    return row


def moves_several(c: Blocks) -> bool:
    """Whether entries change along several directions each."""
    alone = any(
        axis.adds[0] is not None and not any(each is not None for each in axis.adds[1:])
        for part in c.parts
        for axis in part.axes
    )
    return alone or len(c.parts) > 1


def at_directions(c: Blocks, numbers: Any) -> Blocks:
    """The coefficient along some of its directions, by numbers known only at run time."""
    name = Source()

    def part(block: Block) -> Block | None:
        product = TiedProduct()
        direction, *places = product.add_block(block)
        new = product.new_axis(numbers.size)
        product.equate(direction, at(new, Traced(numbers, name, 0, c.shape[0] - 1)))
        product.outputs = [along(new), *places]
        solve_equations(product)
        return product.result(None)

    return collected(list(map(part, c.parts)), (numbers.size, *c.shape[1:]))


def entries_at(block: Block, array: Any) -> Any:
    """An array's entries at the places of a block, broadcast to its values."""
    return nearest_entries(array, tuple(places_in(block)[1:]))


def dense(c: Blocks, dtype: Any) -> Any:
    """The coefficient as an array `(n, *shape)`."""
    arrays = [_dense(part, c.shape, dtype) for part in c.parts]
    return functools.reduce(plus, arrays) if arrays else jnp.zeros(c.shape, dtype)


def _dense(block: Block, shape: tuple[int, ...], dtype: Any) -> Any:
    """Axes that alone have a coordinate are padded to its size, others are scattered. They go to
    their places in the array at once: its transpose would be as large as the array.
    """
    own = {c: a for c in range(len(shape)) for a in [_alone(block, c)] if a is not None}
    linked = [a for a in range(len(block.axes)) if a not in own.values()]
    touched = [
        c for c in range(len(shape)) if any(block.axes[a].adds[c] is not None for a in linked)
    ]
    rest = [c for c in range(len(shape)) if c not in touched]
    sizes = tuple(axis.size for axis in block.axes)
    values = jnp.ones((), dtype) if block.values is None else block.values.astype(dtype)
    array = jnp.broadcast_to(times(values, block.factor), sizes)
    if array.size > values.size:
        array = at_run_time(array)
    array = lax.transpose(array, [*linked, *(own[c] for c in rest if c in own)])
    missing = [len(linked) + i for i, c in enumerate(rest) if c not in own]
    array = lax.expand_dims(array, missing) if missing else array
    array = _padded(array, [(own.get(c), c) for c in rest], block, shape, len(linked))
    if not linked:
        return array
    places = places_in(Block(None, tuple(block.axes[a] for a in linked), block.origin))
    if touched[-1] - touched[0] + 1 == len(touched):  # NumPy leaves neighbours where they are
        array = jnp.moveaxis(array, range(len(linked)), range(touched[0], touched[0] + len(linked)))
    index = tuple(places[c] if c in touched else slice(None) for c in range(len(shape)))
    return zeros_for(array, shape, dtype).at[index].add(array, wrap_negative_indices=False)


def _alone(block: Block, c: int) -> int | None:
    """The axis that alone adds to a coordinate, and adds to no other."""
    adding = [a for a, axis in enumerate(block.axes) if axis.adds[c] is not None]
    if len(adding) != 1:
        return None
    axis = block.axes[adding[0]]
    index, others = axis.adds[c], [index for index in axis.adds if index is not None]
    steps = isinstance(index, Range) and (index.step != 0 or axis.size == 1)
    return adding[0] if steps and len(others) == 1 else None


def _padded(
    array: Any,
    axes: Sequence[tuple[int | None, int]],
    block: Block,
    shape: tuple[int, ...],
    lead: int,
) -> Any:
    """An array with each axis at its place along a coordinate."""
    pads, turned = [(0, 0, 0)] * lead, []
    for i, (a, c) in enumerate(axes):
        size = array.shape[lead + i]
        index = Range(0, 0) if a is None else block.axes[a].adds[c]
        assert isinstance(index, Range)
        if index.step < 0:
            turned.append(lead + i)
        low, high = index.scaled(1, block.origin[c]).bounds(size)
        pads.append((low, shape[c] - 1 - high, max(abs(index.step), 1) - 1 if size > 1 else 0))
    if turned:
        array = lax.rev(array, turned)
    if all(pad == (0, 0, 0) for pad in pads):
        return array
    return lax.pad(array, array.dtype.type(0), pads)

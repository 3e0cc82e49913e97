"""`dot_general` of a structured coefficient and a primal matrix: rows of the matrix, gathered or
spread over directions.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...devices import varying_alike, zeros_for
from ...kernels import call
from ..binding import at_run_time
from ..coefficients import ByDirection, ByEntry, Full, Image
from ..equation import BilinearMap
from . import by_direction, by_entry
from .dense import dense
from .numbers import Numbers
from .source import Source


@final
class Shapes(NamedTuple):
    """A `dot_general` seen from its structured side: axes of the structured operand and of the
    matrix, and where the axes of the output come from.
    """

    side: int
    shape: tuple[int, ...]
    batch: tuple[int, ...]
    contract: tuple[int, ...]
    free: tuple[int, ...]
    other_shape: tuple[int, ...]
    other_batch: tuple[int, ...]
    other_contract: tuple[int, ...]
    other_free: tuple[int, ...]

    @classmethod
    def of(cls, product: BilinearMap, side: int) -> "Shapes":
        contract, batch = product.params["dimension_numbers"]
        shape, other = (jnp.shape(product.operands[s]) for s in (side, 1 - side))
        c, b, oc, ob = (
            tuple(x) for x in (contract[side], batch[side], contract[1 - side], batch[1 - side])
        )
        free = tuple(a for a in range(len(shape)) if a not in c + b)
        other_free = tuple(a for a in range(len(other)) if a not in oc + ob)
        return cls(side, shape, b, c, free, other, ob, oc, other_free)

    def sizes(self, axes: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.shape[a] for a in axes)

    @property
    def width(self) -> int:
        """How many numbers a row of the matrix has."""
        return math.prod(self.other_shape[a] for a in self.other_free)

    @property
    def is_vector(self) -> bool:
        """The structured operand is contracted in whole."""
        return math.prod(self.sizes(self.batch + self.free)) == 1

    def matrix(self, array: Any) -> Any:
        """The other operand as `(batch · contract, free)`."""
        order = self.other_batch + self.other_contract + self.other_free
        if order != tuple(range(len(order))):
            array = array.transpose(order)
        rows = math.prod(self.sizes(self.batch + self.contract))
        return array if array.shape == (rows, self.width) else array.reshape(rows, self.width)

    def rows(self, array: Any, numbers: Any) -> Any:
        """Rows of that matrix, by number: `(*numbers.shape, free)`.

        Where the matrix has one axis to look them up in, it is not transposed first: the gradient
        would be transposed back, all of it.
        """
        if self.other_batch or len(self.other_contract) != 1:
            return self.matrix(array).at[numbers].get(mode="promise_in_bounds")
        (axis,) = self.other_contract
        index = (slice(None),) * axis + (numbers,)
        taken = array.at[index].get(mode="promise_in_bounds")
        places = tuple(range(axis, axis + numbers.ndim))
        moved = jnp.moveaxis(taken, places, tuple(range(numbers.ndim)))
        return moved.reshape(*numbers.shape, self.width)

    def output_strides(self) -> tuple[list[int], list[int], np.ndarray]:
        """Strides in the output of the batch and the free axes of the structured operand, and the
        offsets of one row of the matrix.
        """
        other = tuple(self.other_shape[a] for a in self.other_free)
        sizes = self.sizes(self.batch)
        own = self.sizes(self.free)
        sizes += own + other if self.side == 0 else other + own
        strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        count = len(self.batch)
        middle = strides[count:]
        mine = middle[: len(own)] if self.side == 0 else middle[len(other) :]
        theirs = middle[len(own) :] if self.side == 0 else middle[: len(other)]
        grid = np.indices(other).reshape(len(other), -1) if other else np.zeros((0, 1), int)
        offsets = np.asarray(theirs, int) @ grid if other else np.zeros(1, int)
        return strides[:count], mine, offsets.astype(np.int32)


def by_direction_dot(
    product: BilinearMap, shapes: Shapes, coefficient: ByDirection, array: Any, lead: int
) -> ByDirection | Full:
    """Σ_j v_j (row of the matrix at p_j)."""
    coordinates = by_direction.unravel(coefficient.positions, shapes.shape)
    row: Any = coefficient.positions * 0
    for axis in shapes.batch + shapes.contract:
        row = row * shapes.shape[axis] + coordinates[axis]
    rows = shapes.rows(array, row)
    values = coefficient.values.astype(rows.dtype)
    lead_shape = values.shape[:lead]
    if shapes.is_vector:
        # the same axes, all but the entries' leading; several sums have an axis more
        if values.ndim == row.ndim == lead + 1:  # direction by direction
            summed = values[..., 0, None] * rows[..., 0, :]
            if values.shape[-1] > 1:
                summed = jnp.sum(values[..., None] * rows, axis=-2)
        else:  # collapsed: all entries at once
            count = math.prod(rows.shape[:-1])
            summed = values.reshape(*lead_shape, count) @ rows.reshape(count, shapes.width)
        return Full(summed.reshape(*lead_shape, *product.output.shape))
    batch, free, offsets = shapes.output_strides()
    position: Any = coefficient.positions * 0
    for axis, stride in zip(shapes.batch + shapes.free, batch + free, strict=True):
        position = position + coordinates[axis] * stride
    positions = position[..., None] + offsets.reshape((1,) * position.ndim + (-1,))
    rows = rows.reshape((1,) * (values.ndim + 1 - rows.ndim) + rows.shape)
    values = values[..., None] * rows
    return coefficient.moved_to(
        positions.reshape(*position.shape[:-1], -1),
        values.reshape(*values.shape[:-2], -1),
        (product.form, shapes),
        coefficient.distinct and math.prod(shapes.sizes(shapes.contract)) == 1,
    )


def by_entry_dot(
    product: BilinearMap, shapes: Shapes, coefficient: ByEntry, array: Any
) -> ByEntry | Full | None:
    if shapes.is_vector:
        return _rows(product, shapes, coefficient, array)
    kept, _, left = by_entry.without_constant(coefficient.numbers, shapes.contract)
    if not left:
        return _blocks(product, shapes, coefficient, kept, array)
    contracted = math.prod(shapes.sizes(shapes.contract))
    columns = contracted * coefficient.numbers.count
    shared = coefficient.numbers.shared(shapes.contract)
    if shared.count < min(columns, coefficient.size) and by_entry.are_few(
        coefficient.numbers, shared
    ):
        return _blocks(product, shapes, _of_all(coefficient, shared, shapes, array), shared, array)
    if columns >= coefficient.size:
        return None
    return _columns(product, shapes, coefficient, array, contracted)


def _of_all(coefficient: ByEntry, shared: Numbers, shapes: Shapes, array: Any) -> ByEntry:
    """The same, each entry with the numbers of all that it is contracted with."""
    numbers = np.expand_dims(shared.array, [axis + 1 for axis in shapes.contract])
    numbers = Numbers(np.broadcast_to(numbers, (shared.count, *shapes.shape)))
    return by_entry.at_numbers(coefficient, numbers, array.dtype)


def _rows(product: BilinearMap, shapes: Shapes, coefficient: ByEntry, array: Any) -> Full:
    """Each direction is mapped to the rows of the matrix that it moves, added up."""
    c, matrix = coefficient, shapes.matrix(array)
    shape = (c.size, *product.output.shape)
    order = shapes.batch + shapes.contract + shapes.free  # the rows' order; free axes have size one
    numbers = c.numbers.array.transpose(0, *(a + 1 for a in order)).reshape(c.numbers.count, -1)
    if c.is_ones and c.numbers.is_identity(c.size) and Numbers(numbers).is_identity(c.size):
        image = _image(product, shapes.side)
        return Full(matrix if matrix.shape == shape else matrix.reshape(shape), c.factor, image)
    values = None
    if (columns := c.columns) is not None:
        values = columns.transpose(0, *(a + 1 for a in order)).astype(matrix.dtype)
        values = values.reshape(numbers.shape)
    if values is not None and Numbers(numbers).is_identity(c.size):
        base = call("scaled rows", _scaled, values[0], matrix).reshape(shape)
        return Full(base, c.factor, scaled=(values[0], matrix))
    return Full(_spread(values, matrix, numbers, c.size).reshape(shape), c.factor)


def _scaled(numbers: Any, matrix: Any) -> Any:
    return numbers[:, None] * matrix


def _image(product: BilinearMap, side: int) -> Image | None:
    """What is known of the rows B(e_r, b), b being on the other side: that they gave B(a, b)."""
    operand, rows = product.sources[side], product.sources[1 - side]
    if operand is None:
        return None
    if rows is None or jnp.ndim(product.operands[1 - side]) > 1:
        rows = Source((product.form, str(product.params), side) if rows else None, rows)
    return Image(rows, operand, product.primal)


def _spread(values: Any, matrix: Any, numbers: np.ndarray, size: int) -> Any:
    """Σ_j of the rows of a matrix `(entries, width)` times `values[j]` (None: one), by direction:
    `(n, width)`.
    """
    if len(numbers) > by_entry.FEW:
        if values is None:
            values = at_run_time(np.asarray(numbers >= 0, matrix.dtype))
        return _spread_many(values, matrix, numbers, size)
    parts = [
        by_entry.spread(matrix if values is None else values[j, :, None] * matrix, number, size)
        for j, number in enumerate(numbers)
    ]
    return sum(parts[1:], parts[0])


def _spread_many(values: Any, matrix: Any, numbers: np.ndarray, size: int) -> Any:
    """As many columns at a time as need no more memory than the result."""
    count, entries = numbers.shape
    together = min(count, max(1, size // max(1, entries)))
    chunks = -(-count // together)
    missing = ((0, chunks * together - count), (0, 0))
    shape = (chunks, together, entries)
    at = np.pad(by_entry.places(numbers, size), missing, constant_values=size)
    zeros = zeros_for(values, (size, matrix.shape[1]), matrix.dtype)

    def step(total: Any, part: tuple[Any, Any]) -> tuple[Any, None]:
        rows = part[0][..., None] * matrix[None]
        return total.at[part[1]].add(rows, mode="drop"), None

    parts = (jnp.pad(values, missing).reshape(shape), jnp.asarray(at).reshape(shape))
    if chunks == 1:
        return step(zeros, jax.tree.map(lambda part: part[0], parts))[0]
    return lax.scan(step, varying_alike((zeros, values, matrix))[0], parts)[0]


def _blocks(
    product: BilinearMap, shapes: Shapes, coefficient: ByEntry, kept: Numbers, array: Any
) -> ByEntry:
    """All that is contracted moves along the same directions, and so does what comes out: columns
    are values like the operand's own. `kept` are the numbers along the other axes.
    """
    c = coefficient
    columns, matrix = Full(by_entry.zero_elsewhere(c, array.dtype)), Full(array)
    if shapes.side == 0:
        values = dense(product, columns, matrix, (1, 0)).array
    else:
        values = dense(product, matrix, columns, (0, 1)).array
    axes = [axis for axis in range(len(shapes.shape)) if axis not in shapes.contract]
    order = (0, *(1 + axes.index(axis) for axis in shapes.batch + shapes.free))
    first = len(order) if shapes.side == 0 else 1 + len(shapes.batch)
    others = tuple(range(first, first + len(shapes.other_free)))
    numbers = np.expand_dims(kept.array.transpose(order), others)
    return ByEntry(values, Numbers(np.broadcast_to(numbers, values.shape)), c.size, c.factor)


def _columns(
    product: BilinearMap, shapes: Shapes, coefficient: ByEntry, array: Any, contracted: int
) -> ByEntry:
    """Sets contracted with shared weights: each output depends on all that its block does.

    With x as (batch, contract, free) and the matrix as (batch, contract, width), entry
    (b, f, w) of the output has a column for each c: value x[b, c, f] · matrix[b, c, w].
    """
    c = coefficient
    order = shapes.batch + shapes.contract + shapes.free
    sizes = tuple(
        math.prod(shapes.sizes(axes)) for axes in (shapes.batch, shapes.contract, shapes.free)
    )
    count = c.numbers.count
    numbers = c.numbers.array.transpose(0, *(a + 1 for a in order)).reshape(count, *sizes)
    matrix = shapes.matrix(array).reshape(*sizes[:2], shapes.width)
    own, other = (3, 4) if shapes.side == 0 else (4, 3)  # axes behind (count, batch, contract)
    values = lax.expand_dims(matrix, (0, own)) * jnp.ones((), matrix.dtype)
    if (columns := c.columns) is not None:
        mine = columns.transpose(0, *(a + 1 for a in order)).reshape(count, *sizes)
        values = lax.expand_dims(mine.astype(matrix.dtype), (other,)) * values
    elif not c.numbers.full:
        known = np.expand_dims(numbers >= 0, other)
        values = jnp.where(known, values, jnp.zeros((), matrix.dtype))
    full = np.broadcast_to(
        np.expand_dims(numbers, other),
        tuple(np.insert((count, *sizes), other, shapes.width)),
    )
    values = jnp.broadcast_to(values, full.shape)
    # (count, batch, contract, …) to (count · contract, batch, …)
    shape = (count * contracted, *product.output.shape)
    full = np.moveaxis(full, 2, 1).reshape(shape)
    return ByEntry(jnp.moveaxis(values, 2, 1).reshape(shape), Numbers(full), c.size, c.factor)

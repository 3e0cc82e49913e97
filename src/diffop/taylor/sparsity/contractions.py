"""Products of coefficients: entrywise, `dot_general` and convolutions.

A structured coefficient times a matrix gathers rows of the matrix. Where the product has axes of
the structured operand left (weights shared by blocks of the input) it stays structured.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from ..arrays import as_array
from ..binding import at_run_time, is_explicit, varying_alike, varying_axes, zeros_for
from ..coefficients import (
    ByDirection,
    ByEntry,
    Coefficient,
    Full,
    Image,
    Sets,
    Structured,
    sets,
)
from ..equation import BilinearMap
from ..primitive import Form
from ..rows import rows_dot
from . import by_direction, by_entry
from .convolutions import convolution
from .numbers import Numbers
from .source import Source


def dense(product: BilinearMap, left: Full, right: Full, leads: tuple[int, int]) -> Full:
    """B of two arrays, mapped over their leading axes."""
    factor = left.factor * right.factor
    if product.form is Form.ENTRYWISE:
        rank = len(product.output.shape)
        arrays = (
            _behind(product, each.base, lead, max(leads), rank)
            for each, lead in zip((left, right), leads, strict=True)
        )
        return Full(product.function(*arrays), factor)
    if product.form is Form.DOT and 0 in leads and leads != (0, 0):
        array = _flat_dot(product, left.base, right.base, leads)
        if array is not None:
            return Full(array, factor)
    function = product.function
    axes = tuple(0 if lead else None for lead in leads)
    rows = product.form is Form.ROWS and leads[1] == 0  # it takes any number of leading axes
    for _ in range(0 if rows else max(leads)):
        function = jax.vmap(function, in_axes=axes)
    return Full(as_array(function(left.base, right.base)), factor)


def _behind(product: BilinearMap, array: Any, lead: int, most: int, rank: int) -> Any:
    """An array with axes of size one where a product with another, behind `most` leading axes and
    of a rank, wants them; `jax.vmap` would make the same of it in ten times the time.
    """
    if array.ndim == 0:
        return array
    missing = rank + lead - array.ndim
    axes = (*range(lead, most), *range(most, most + missing))
    if not axes:
        return array
    return lax.expand_dims(array, axes) if lead else product.expanded(array, axes)


def _flat_dot(product: BilinearMap, left: Any, right: Any, leads: tuple[int, int]) -> Any:
    """A coefficient times a primal matrix with the coefficient on the left, so that points and
    directions are the rows of one product, in order, whichever side the matrix was on.
    """
    contract, batch = product.params["dimension_numbers"]
    if any(batch) or product.params["out_sharding"] is not None:
        return None
    side = 0 if leads[0] else 1
    lead = leads[side]
    moving, still = (left, right) if side == 0 else (right, left)
    params = {
        "precision": _precision(product.params["precision"], side),
        "preferred_element_type": product.params["preferred_element_type"],
    }
    if moving.ndim == lead + 1 and still.ndim == 2 and _is_plain(moving, still):
        matrix = still if contract[1 - side] == (0,) else product.transposed(still)
        return rows_dot(moving, matrix, **params)
    inner = tuple(axis + lead for axis in contract[side])
    array = lax.dot_general(moving, still, ((inner, contract[1 - side]), ((), ())), **params)
    free = moving.ndim - lead - len(inner)
    others = array.ndim - lead - free
    if side == 0:
        return array
    order = (
        *range(lead),
        *range(lead + free, lead + free + others),
        *range(lead, lead + free),
    )
    return array if free == 0 or others == 0 else array.transpose(order)


def _dimensions(params: dict[str, Any]) -> tuple[Any, Any]:
    return params["dimension_numbers"]


def _is_plain(*arrays: Any) -> bool:
    """Whether the types of arrays say nothing of devices: not where a program is mapped over them
    (`jax.shard_map`), nor on a mesh with explicit axes, where only JAX's own products know how
    their gradients are laid out.
    """
    return not any(varying_axes(array) or is_explicit(jax.typeof(array)) for array in arrays)


def _precision(precision: Any, side: int) -> Any:
    return precision[::-1] if side == 1 and isinstance(precision, tuple) else precision


def structured(
    product: BilinearMap, left: Coefficient, right: Coefficient, leads: tuple[int, int]
) -> ByDirection | ByEntry | Full | None:
    """B where at least one operand is structured; None where it has to become an array."""
    if isinstance(left, ByDirection) != isinstance(right, ByDirection):
        left, right = (
            by_entry.as_sparse(c, jnp.result_type(x)) if isinstance(c, ByEntry) else c
            for c, x in zip((left, right), product.operands, strict=True)
        )
    if product.form is Form.ENTRYWISE:
        return _entrywise(product, left, right, leads)
    if 0 not in leads:
        return _inner_product(product, left, right)
    side = 0 if isinstance(left, Structured) else 1  # the other is a primal
    moving, still = (left, right) if side == 0 else (right, left)
    assert isinstance(moving, Structured) and isinstance(still, Full)
    kind = product.output.dtype
    with jax.numpy_dtype_promotion("standard"):
        if jnp.result_type(*product.operands, kind) != kind:
            return None  # the user wants fewer digits than the operands have
    known = not isinstance(product.operands[1 - side], Tracer)
    array = at_run_time(still.array) if known else still.array
    moving, array = _of_type(moving, kind), array.astype(kind)
    if product.form is Form.CONVOLUTION:
        return convolution(product, side, moving, array)
    if product.form is not Form.DOT:
        return None
    shapes = _Shapes.of(product, side)
    if isinstance(moving, ByDirection):
        return _sparse_dot(product, shapes, moving, array, leads[side])
    return _diagonal_dot(product, shapes, moving, array)


def _of_type(coefficient: Structured, dtype: Any) -> Structured:
    """Operands of a product may differ in type, from one another and from the output."""
    c = coefficient
    if c.values is None or c.values.dtype == dtype:
        return c
    return c.with_values(c.values.astype(dtype))


def _entrywise(
    product: BilinearMap, left: Coefficient, right: Coefficient, leads: tuple[int, int]
) -> ByDirection | ByEntry | Full | None:
    shape, dtype = product.output.shape, product.output.dtype
    left, right = (
        broadcast(c, lead, jnp.shape(x), shape) if isinstance(c, Structured) or lead > 0 else c
        for c, lead, x in zip((left, right), leads, product.operands, strict=True)
    )
    if isinstance(left, Full):  # multiplication commutes
        left, right, leads = right, left, (leads[1], leads[0])
    if isinstance(left, ByDirection):
        if isinstance(right, ByDirection):
            return by_direction.product(left, right)
        assert isinstance(right, Full)
        if leads[1] > 0:
            return by_direction.times_rows(left, right.array)
        return by_direction.times_array(left, right.array, shape)
    assert isinstance(left, ByEntry)
    if isinstance(right, ByEntry):
        return by_entry.product(left, right, dtype)
    if isinstance(right, Full) and leads[1] == 0:
        source = None if right.image is None else right.image.source
        return by_entry.times_array(left, right.array, source)
    return None


def broadcast(
    coefficient: Coefficient, lead: int, before: tuple[int, ...], after: tuple[int, ...]
) -> Coefficient:
    """The coefficient of a value that is broadcast along axes of size one, or from a scalar."""
    if before == after:
        return coefficient
    if isinstance(coefficient, Sets):  # each part has to see whether it is a scalar's
        return sets([broadcast(part, 1, before, after) for part in coefficient.parts])
    before = before or (1,) * len(after)
    if isinstance(coefficient, ByDirection):
        return by_direction.broadcast(coefficient, before, after)
    if isinstance(coefficient, ByEntry):
        return by_entry.broadcast(coefficient, before, after)
    if isinstance(coefficient, Full):
        rows = coefficient.base.shape[:lead]
        array = jnp.broadcast_to(coefficient.base.reshape(*rows, *before), (*rows, *after))
        return Full(array, coefficient.factor)
    return coefficient


def _inner_product(
    product: BilinearMap, left: Coefficient, right: Coefficient
) -> ByDirection | ByEntry | Full | None:
    """x · y of two structured coefficients, of all that are not axes of a batch: the sum of the
    entrywise product.
    """
    if product.form is not Form.DOT:
        return None
    contract, batch = _dimensions(product.params)
    if any(len(c) + len(b) != jnp.ndim(x) for c, b, x in zip(contract, batch, product.operands)):
        return None
    if isinstance(left, ByDirection) and isinstance(right, ByDirection):
        if jnp.ndim(product.operands[0]) > 1:
            return None
        return by_direction.to_dense(by_direction.product(left, right), 1, ())
    if isinstance(left, ByEntry) and isinstance(right, ByEntry):
        orders = (tuple(b) + tuple(c) for c, b in zip(contract, batch, strict=True))
        left, right = map(by_entry.transposed, (left, right), orders)
        entrywise = by_entry.product(left, right, product.output.dtype)
        if entrywise is not None:
            axes = tuple(range(len(batch[0]), len(batch[0]) + len(contract[0])))
            return by_entry.sum_over(entrywise, axes, product.output.dtype)
    return None


class _Shapes(NamedTuple):
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
    def of(cls, product: BilinearMap, side: int) -> "_Shapes":
        contract, batch = _dimensions(product.params)
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


def _sparse_dot(
    product: BilinearMap, shapes: _Shapes, coefficient: ByDirection, array: Any, lead: int
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
    return ByDirection(
        positions.reshape(*position.shape[:-1], -1),
        values.reshape(*values.shape[:-2], -1),
        coefficient.distinct and math.prod(shapes.sizes(shapes.contract)) == 1,
        Source((product.form, shapes), coefficient.source),
    )


def _diagonal_dot(
    product: BilinearMap, shapes: _Shapes, coefficient: ByEntry, array: Any
) -> ByEntry | Full | None:
    if shapes.is_vector:
        return _rows(product, shapes, coefficient, array)
    kept, _, left = by_entry.without_constant(coefficient.numbers, shapes.contract)
    if not left:
        return _blocks(product, shapes, coefficient, kept, array)
    contracted = math.prod(shapes.sizes(shapes.contract))
    if contracted * coefficient.numbers.count >= coefficient.size:
        return None
    return _columns(product, shapes, coefficient, array, contracted)


def _rows(product: BilinearMap, shapes: _Shapes, coefficient: ByEntry, array: Any) -> Full:
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
    return Full(_spread(values, matrix, numbers, c.size).reshape(shape), c.factor)


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
    product: BilinearMap, shapes: _Shapes, coefficient: ByEntry, kept: Numbers, array: Any
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
    product: BilinearMap, shapes: _Shapes, coefficient: ByEntry, array: Any, contracted: int
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

"""Arithmetic of `ByEntry` coefficients: entry by entry, as on the primal itself.

What meets what is known while tracing, so products of entries that share no direction
(x[1:] · x[:-1]) are never formed.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ...devices import zeros_for
from ..arrays import as_array, plus, product_of, summed, times
from ..binding import at_run_time
from ..coefficients import ByDirection, ByEntry, Full, Image, scale
from .numbers import Numbers, readers
from .source import Source

FEW = 16
"""So many columns are gone through one by one; more of them together."""
_MANY = 256
"""More pairs of columns than this are not gone through one by one."""


def identity(size: int, shape: tuple[int, ...]) -> ByEntry:
    """Direction i is the i-th basis vector."""
    numbers = np.arange(math.prod(shape)).reshape(1, *shape)
    return ByEntry(None, Numbers(numbers), size)


def column(c: ByEntry, j: int, dtype: Any) -> Array:
    """The j-th values as an array, without the factor."""
    if c.values is None:
        return at_run_time(np.asarray(c.numbers.known[j], dtype))
    return c.values if c.is_lone else c.values[j]


def values_of(c: ByEntry, dtype: Any) -> Array:
    """All values, with the factor: `(s, *shape)`."""
    return times(whole(c, dtype).columns, c.factor)


def whole(c: ByEntry, dtype: Any) -> ByEntry:
    """The coefficient without its factor, and with values also where they are ones."""
    values = at_run_time(np.asarray(c.numbers.known, dtype)) if c.is_ones else c.values
    return ByEntry(values, c.numbers, c.size)


def times_array(c: ByEntry, array: Any, source: Source | None = None) -> ByEntry:
    """The entrywise product with an array of the primal's shape, or with a scalar."""
    array = as_array(array)
    if array.shape != c.numbers.shape:
        array, source = jnp.broadcast_to(array, c.numbers.shape), None
    if c.is_ones and c.numbers.count == 1 and c.numbers.full:
        return ByEntry(array, c.numbers, c.size, c.factor, source)
    own = whole(c, array.dtype).values
    array = array if c.is_lone else lax.expand_dims(array, (0,))
    return ByEntry(product_of(own, array), c.numbers, c.size, c.factor)


def taken(c: ByEntry, places: np.ndarray) -> ByEntry:
    """What is at flat places, −1 for nothing: numbers `(s, *places.shape)`."""
    count, there = c.numbers.count, places >= 0
    at = np.where(there, places, 0)
    numbers = np.where(there, c.numbers.array.reshape(count, -1)[:, at], -1)
    values = c.columns
    if values is not None:
        values = values.reshape(count, -1)[:, at]
        values = jnp.where(there, values, jnp.zeros((), values.dtype))
    return ByEntry(values, Numbers(numbers), c.size, c.factor)


def select(coefficient: ByEntry, keep: Any, dtype: Any) -> ByEntry:
    """The coefficient where a mask says so, zero elsewhere: not a product, in which 0 · ∞ would be
    NaN.
    """
    c = coefficient
    keep = (np if isinstance(keep, np.ndarray) else jnp).broadcast_to(keep, c.numbers.shape)
    numbers = c.numbers
    if isinstance(keep, np.ndarray):
        if keep.all():
            return c
        numbers = Numbers(np.where(keep, numbers.array, -1))
        if c.is_ones:
            return ByEntry(None, numbers, c.size, c.factor)
    own: Any = whole(c, dtype).values
    values = jnp.where(keep, own, jnp.zeros((), own.dtype))
    return ByEntry(values, numbers, c.size, c.factor)


def broadcast(coefficient: ByEntry, before: tuple[int, ...], after: tuple[int, ...]) -> ByEntry:
    """The coefficient of a value broadcast along axes of size one."""
    c, count = coefficient, coefficient.numbers.count
    numbers = np.broadcast_to(c.numbers.array.reshape(count, *before), (count, *after))
    values = c.columns
    if values is not None:
        values = jnp.broadcast_to(values.reshape(count, *before), (count, *after))
    return ByEntry(values, Numbers(numbers), c.size, c.factor)


def product(left: ByEntry, right: ByEntry, dtype: Any) -> ByEntry | None:
    """The entrywise product direction by direction, or None where there are too many pairs."""
    if left.numbers == right.numbers and left.numbers.different:
        return _aligned_product(left, right)
    pairs = _pairs(left, right)
    if pairs is None:
        return None
    columns: dict[int, Array] = {}
    met = np.zeros(left.numbers.array.shape, bool)
    for j, k, mask in pairs:
        term = _masked(column(left, j, dtype) * column(right, k, dtype), mask)
        columns[j] = plus(columns[j], term) if j in columns else term
        met[j] |= True if mask is None else mask
    kept = sorted(columns) or [0]
    zero = jnp.zeros(left.numbers.shape, dtype)
    values = jnp.stack([columns.get(j, zero) for j in kept])
    numbers = Numbers(np.where(met, left.numbers.array, -1)[kept])
    return ByEntry(values, numbers, left.size, left.factor * right.factor)


def transposed(c: ByEntry, order: tuple[int, ...]) -> ByEntry:
    """With the axes of the primal in another order."""
    if order == tuple(range(len(order))):
        return c
    order = (0, *(axis + 1 for axis in order))
    values = None if c.is_ones else lax.transpose(c.columns, order)
    return ByEntry(values, Numbers(c.numbers.array.transpose(order)), c.size, c.factor)


def _aligned_product(left: ByEntry, right: ByEntry) -> ByEntry:
    """The product of coefficients with equal numbers, column by column."""
    factor = left.factor * right.factor
    if left.is_ones or right.is_ones:
        c = right if left.is_ones else left
        return ByEntry(c.values, c.numbers, c.size, factor, c.source)
    if not (left.is_lone and right.is_lone):
        left, right = (c.with_values(c.columns) for c in (left, right))
    return ByEntry(product_of(left.values, right.values), left.numbers, left.size, factor)


def add(left: ByEntry, right: ByEntry, dtype: Any) -> ByEntry:
    """The sum: values at equal numbers added, columns that fill each other's gaps joined, others
    side by side.
    """
    if left.numbers == right.numbers:
        if left.source is not None and left.source == right.source:
            return ByEntry(
                left.values, left.numbers, left.size, left.factor + right.factor, left.source
            )
        if left.is_lone and right.is_lone:
            terms = (times(c.values, c.factor) for c in (left, right))
            return ByEntry(plus(*terms), left.numbers, left.size)
        values = plus(values_of(left, dtype), values_of(right, dtype))
        return ByEntry(values, left.numbers, left.size)
    a, b = left.numbers, right.numbers
    first, second = values_of(left, dtype), values_of(right, dtype)
    if a.count == b.count and not (a.known & b.known & (a.array != b.array)).any():
        joined = Numbers(np.where(a.known, a.array, b.array))
        return ByEntry(first + second, joined, left.size)
    joined = Numbers(np.concatenate([a.array, b.array]))
    return united(ByEntry(jnp.concatenate([first, second]), joined, left.size), dtype)


def united(c: ByEntry, dtype: Any) -> ByEntry:
    """With a column for each direction of an entry, where that makes fewer columns."""
    numbers = c.numbers.united
    fewer = numbers.count < c.numbers.count and are_few(c.numbers, numbers)
    return at_numbers(c, numbers, dtype) if fewer else c


def at_numbers(c: ByEntry, numbers: Numbers, dtype: Any) -> ByEntry:
    """The same with other numbers, which have all those that there are: values of equal ones are
    added.
    """
    own, zero = whole(c, dtype).columns, jnp.zeros(numbers.shape, dtype)
    columns = [zero] * numbers.count
    for j, k, mask in _meeting(c.numbers, numbers):
        column = _masked(own[j], mask)
        columns[k] = column if columns[k] is zero else columns[k] + column
    return ByEntry(jnp.stack(columns), numbers, c.size, c.factor)


def collapse(coefficient: ByEntry, weights: Any, dtype: Any) -> Full:
    """Σ_r w_r c_r: an array `(*m, *shape)` for weights `(*m, n)`."""
    number = uniform(weights)
    if number is not None and coefficient.is_lone:
        lone: Any = coefficient.values
        collapsed = scale(Full(lone, number), coefficient.factor)
        assert isinstance(collapsed, Full)
        return collapsed
    values = values_of(coefficient, dtype)
    if number is not None:
        return Full(summed(values, (0,)), number)
    at = weights_at(weights, coefficient.numbers).astype(dtype)
    lead = at.ndim - values.ndim
    values = values.reshape((1,) * lead + values.shape)
    return Full(jnp.sum(at * values, axis=lead))


def uniform(weights: Any) -> float | None:
    """The one value of weights that are known, real and all equal."""
    known = isinstance(weights, np.ndarray) and not np.iscomplexobj(weights)
    if not known or weights.ndim != 1 or weights.size == 0:
        return None
    return float(weights[0]) if (weights == weights[0]).all() else None


def weights_at(weights: Any, numbers: Numbers) -> Array:
    """The weight of each entry's directions: `(*m, s, *shape)`."""
    shape = (*weights.shape[:-1], *numbers.array.shape)
    if numbers.run is not None:
        part = weights[..., numbers.run : numbers.run + numbers.array.size]
        return jnp.asarray(part).reshape(shape)
    return jnp.asarray(weights)[..., np.where(numbers.known, numbers.array, 0)]


def rows_at(rows: Array, numbers: Numbers) -> Array:
    """The row `(n, k)` of each entry's directions: `(s, entries, k)`; anything where there is none.

    Sets of neighbours are cut out: a gather would have all numbers as a constant, and rows that
    lie on several devices would be copied to each.
    """
    count, first = numbers.count, numbers.turned_run
    if first is None:
        return rows[np.maximum(numbers.array, 0).reshape(count, -1)]
    size, whole = int(np.count_nonzero(numbers.known)), numbers.array.size
    part = lax.slice_in_dim(rows, first, first + size)
    part = lax.pad(part, jnp.zeros((), rows.dtype), [(0, whole - size, 0), (0, 0, 0)])
    return jnp.swapaxes(part.reshape(whole // count, count, -1), 0, 1)


def to_dense(coefficient: ByEntry, dtype: Any) -> Full:
    """All directions as an array `(n, *shape)`."""
    c = coefficient
    size = math.prod(c.numbers.shape)
    values = values_of(c, dtype).reshape(c.numbers.count, size)
    numbers = c.numbers.array.reshape(c.numbers.count, size)
    if size and np.array_equal(numbers, np.broadcast_to(numbers[:, :1], numbers.shape)):
        array = spread(values, numbers[:, 0], c.size)  # a column is a row, as in Σ_i (x_i − m_ki)²
    else:
        array = zeros_for(values, (c.size, size), dtype)
        array = array.at[places(numbers, c.size), np.arange(size)[None]].add(values, mode="drop")
    return Full(array.reshape(c.size, *c.numbers.shape))


def sum_over(coefficient: ByEntry, axes: tuple[int, ...], dtype: Any) -> ByEntry | Full:
    """The coefficient of a sum over axes of the primal.

    Along an axis where the numbers do not change the values are summed as they are. Over the
    others each entry of the sum depends on all that it is made of: these become columns while
    there are entries left to tell apart and fewer columns than n.
    """
    numbers, constant, axes = without_constant(coefficient.numbers, axes)
    c = coefficient
    if constant:
        values = summed(zero_elsewhere(c, dtype), [a + 1 for a in constant])
        c = ByEntry(values, numbers, c.size, c.factor)
    if not axes:
        return c
    if len(axes) == len(c.numbers.shape):
        return _gathered(c, dtype)
    count = math.prod(c.numbers.shape[a] for a in axes)
    numbers = _front(c.numbers.array, axes, count)
    values = _front(values_of(c, dtype), axes, count)
    result = united(ByEntry(values, Numbers(numbers), c.size), dtype)
    return result if result.numbers.count < c.size else to_dense(result, dtype)


def without_constant(
    numbers: Numbers, axes: tuple[int, ...]
) -> tuple[Numbers, tuple[int, ...], tuple[int, ...]]:
    """The numbers without those of the axes along which they do not change, these axes, and the
    others as they are numbered then.
    """
    constant: list[int] = []
    for axis in sorted(axes, reverse=True):
        rest = numbers.along(axis)
        if rest is not None:
            numbers, constant = Numbers(rest), [*constant, axis]
    others = tuple(a - sum(k < a for k in constant) for a in axes if a not in constant)
    return numbers, tuple(constant), others


def zero_elsewhere(c: ByEntry, dtype: Any) -> Array:
    """The values without the factor, `(s, *shape)`, zero where there is no direction."""
    columns = whole(c, dtype).columns
    if c.numbers.full or c.is_ones:
        return columns
    return jnp.where(c.numbers.known, columns, jnp.zeros((), columns.dtype))


def _gathered(coefficient: ByEntry, dtype: Any) -> Full:
    """The sum of all entries, by direction: `(n,)`."""
    c = coefficient
    if c.numbers.is_identity(c.size) and not c.is_ones:
        own = column(c, 0, dtype)
        image = None if c.source is None else Image(c.source)
        return Full(own if own.ndim == 1 else own.reshape(-1), c.factor, image)
    numbers = c.numbers.array.reshape(c.numbers.count, -1)
    values = whole(c, dtype).columns.reshape(numbers.shape)
    if c.numbers.count > FEW:
        return Full(spread(values.reshape(-1), numbers.reshape(-1), c.size), c.factor)
    parts = [spread(each, number, c.size) for each, number in zip(values, numbers, strict=True)]
    return Full(sum(parts[1:], parts[0]), c.factor)


def spread(rows: Array, numbers: np.ndarray, size: int) -> Array:
    """Rows `(entries, …)` added up by direction: `(n, …)`; a shift where that is all it is."""
    known = np.flatnonzero(numbers >= 0)
    if known.size == 0:
        return jnp.zeros((size, *rows.shape[1:]), rows.dtype)
    start, stop = int(known[0]), int(known[-1]) + 1
    first = int(numbers[start])
    if np.array_equal(numbers[start:stop], np.arange(first, first + stop - start)):
        rows = rows[start:stop] if (start, stop) != (0, rows.shape[0]) else rows
        if rows.shape[0] == size:
            return rows
        padding = [(first, size - first - rows.shape[0], 0), *[(0, 0, 0)] * (rows.ndim - 1)]
        return lax.pad(rows, jnp.zeros((), rows.dtype), padding)
    target = zeros_for(rows, (size, *rows.shape[1:]), rows.dtype)
    return target.at[places(numbers, size)].add(rows, mode="drop")


def places(numbers: np.ndarray, size: int) -> np.ndarray:
    """Numbers as indices of a scatter, outside where there is no direction."""
    return np.where(numbers < 0, size, numbers)


def _front(array: Any, axes: tuple[int, ...], summed: int) -> Any:
    """Axes of the primal moved into the axis of columns."""
    kept = [a for a in range(array.ndim - 1) if a not in axes]
    moved = array.transpose(0, *(a + 1 for a in axes), *(a + 1 for a in kept))
    return moved.reshape(array.shape[0] * summed, *(array.shape[a + 1] for a in kept))


def _pairs(left: ByEntry, right: ByEntry) -> list[tuple[int, int, np.ndarray | None]] | None:
    if not are_few(left.numbers, right.numbers):
        return None
    return list(_meeting(left.numbers, right.numbers))


def are_few(a: Numbers, b: Numbers) -> bool:
    """Whether pairs of columns are gone through one by one."""
    return a.count * b.count <= _MANY


def _meeting(a: Numbers, b: Numbers) -> Iterator[tuple[int, int, np.ndarray | None]]:
    """Columns that share directions, and where (None: everywhere)."""
    for j in range(a.count):
        for k in range(b.count):
            mask = (a.array[j] == b.array[k]) & a.known[j]
            if mask.all():
                yield j, k, None
            elif mask.any():
                yield j, k, mask


def _masked(array: Array, mask: np.ndarray | None) -> Array:
    return array if mask is None else jnp.where(mask, array, jnp.zeros((), array.dtype))


def as_sparse(c: ByEntry, dtype: Any) -> ByDirection:
    """The same direction by direction."""
    moved, source = _by_direction(c.numbers, c.size)
    values = at_run_time(np.asarray(moved >= 0, dtype))
    if not c.is_ones:
        own = whole(c, dtype).columns.reshape(-1)
        values = jnp.where(moved >= 0, own[moved.clip(0)], jnp.zeros_like(values))
    return ByDirection(None, times(values, c.factor), c.numbers.different, source)


@functools.lru_cache(maxsize=64)
def _by_direction(numbers: Numbers, size: int) -> tuple[np.ndarray, Source]:
    """For each direction the numbers that it stands at, −1 for none, and their positions."""
    moved = readers(numbers.array.reshape(-1), size)
    positions = np.where(moved < 0, -1, moved % max(1, math.prod(numbers.shape)))
    return moved, Source(Numbers(positions))

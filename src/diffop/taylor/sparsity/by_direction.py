"""Arithmetic of `ByDirection` coefficients: a gather where a dense one would multiply all of its
entries.
"""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...devices import zeros_for
from ..coefficients import ByDirection, Full
from .source import Joined, Source

FEW = 64
"""Up to this many entries an array is filled by comparing positions instead of scattering."""


def entries_at(array: Any, positions: Any, shape: tuple[int, ...]) -> Array:
    """The entries of an array, broadcast to a shape, at flat positions in that shape; a scalar has
    one for all.
    """
    array = jnp.asarray(array)
    if array.ndim == 0:
        return array
    if array.shape != shape:
        coordinates = unravel(positions, shape)
        positions = positions * 0
        for coordinate, size in zip(coordinates, array.shape, strict=True):
            positions = positions * size + (coordinate if size > 1 else 0)
    return array.reshape(-1).at[positions].get(mode="promise_in_bounds")


def unravel(positions: Any, shape: Sequence[int]) -> list[Any]:
    """Coordinates of flat positions."""
    coordinates = []
    for size in reversed(shape):
        coordinates.append(positions % size)
        positions = positions // size
    return coordinates[::-1]


def ravel(coordinates: Sequence[Any], shape: Sequence[int], positions: Any) -> Any:
    """Flat positions, of those that were at `positions`; coordinates outside are moved to the
    border, for entries that are lost.
    """
    if not shape:
        return positions * 0
    flat: Any = 0
    for coordinate, size in zip(coordinates, shape, strict=True):
        flat = flat * size + coordinate.clip(0, max(size - 1, 0))
    return flat


def transposed(
    coefficient: ByDirection, shape: tuple[int, ...], order: tuple[int, ...]
) -> ByDirection:
    """With the axes of a primal of this shape in another order."""
    if order == tuple(range(len(shape))):
        return coefficient
    c, coordinates = coefficient, unravel(coefficient.positions, shape)
    after = [shape[axis] for axis in order]
    positions = ravel([coordinates[axis] for axis in order], after, c.positions)
    return c.moved_to(positions, c.values, ("transposed", shape, order), c.distinct)


def sum_over(
    coefficient: ByDirection, shape: tuple[int, ...], axes: tuple[int, ...]
) -> ByDirection | Full:
    """The coefficient, with values `(n, s)`, of a sum over axes of a primal of this shape. Entries
    of one position stay apart.
    """
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    if not kept:
        return to_dense(coefficient, 1, ())
    if not axes:
        return coefficient
    c, coordinates = coefficient, unravel(coefficient.positions, shape)
    after = [shape[axis] for axis in kept]
    positions = ravel([coordinates[axis] for axis in kept], after, c.positions)
    distinct = c.distinct and all(shape[axis] == 1 for axis in axes)
    return c.moved_to(positions, c.values, ("summed", shape, axes), distinct)


def times_array(coefficient: ByDirection, array: Any, shape: tuple[int, ...]) -> ByDirection:
    """The entrywise product with an array that broadcasts to the primal's shape."""
    return times_values(coefficient, entries_at(array, coefficient.positions, shape))


def times_values(coefficient: ByDirection, factors: Array) -> ByDirection:
    """The product with one number for each position."""
    values = coefficient.values
    factors = factors.reshape((1,) * (values.ndim - factors.ndim) + factors.shape)
    return coefficient.with_values(values * factors)


def times_rows(coefficient: ByDirection, array: Array) -> ByDirection:
    """The entrywise product with a coefficient `(n, *shape)` held direction by direction."""
    rows = array.reshape(array.shape[0], -1)
    factors = jnp.take_along_axis(rows, jnp.asarray(coefficient.positions), axis=1)
    return coefficient.with_values(coefficient.values * factors)


def product(left: ByDirection, right: ByDirection) -> ByDirection:
    """The entrywise product of two coefficients held direction by direction.

    An entry a_j at p_j meets all entries of the other that lie at p_j:
    a_j Σ_k b_k [q_k = p_j].
    """
    if left.distinct and left.source == right.source:
        return left.with_values(left.values * right.values)
    meets = left.positions[..., :, None] == right.positions[..., None, :]
    zero = jnp.zeros((), right.values.dtype)
    met = jnp.sum(jnp.where(meets, right.values[..., None, :], zero), axis=-1)
    return left.with_values(left.values * met)


def of_array(coefficient: Full) -> ByDirection:
    """All entries of an array `(n, *shape)`, direction by direction."""
    values = coefficient.array.reshape(coefficient.base.shape[0], -1)
    positions = np.broadcast_to(np.arange(values.shape[1], dtype=np.int32), values.shape)
    return ByDirection(positions, values, True)


def add(left: ByDirection, right: ByDirection) -> ByDirection:
    """The sum: entries at the same positions added, others side by side."""
    if left.source == right.source:
        return left.with_values(left.values + right.values)
    sets = _sets(left)
    for each in _sets(right):
        same = [i for i, other in enumerate(sets) if each.source == other.source]
        if same:
            sets[same[0]] = add(sets[same[0]], each)
        else:
            sets.append(each)
    source = Source(Joined((each.source, each.positions.shape[-1]) for each in sets))
    positions = None
    if source.numbers is None:
        positions = jnp.concatenate([each.positions for each in sets], axis=-1)
    values = jnp.concatenate([each.values for each in sets], axis=-1)
    return ByDirection(positions, values, False, source)


def _sets(coefficient: ByDirection) -> list[ByDirection]:
    """The sets of entries that a sum put side by side."""
    c, start = coefficient, 0
    if not isinstance(c.source.step, Joined):
        return [c]
    parts = []
    for source, count in c.source.step:
        part = (..., slice(start, start + count))
        parts.append(ByDirection(c.positions[part], c.values[part], False, source))
        start += count
    return parts


def broadcast(
    coefficient: ByDirection, before: tuple[int, ...], after: tuple[int, ...]
) -> ByDirection:
    """The coefficient of a value broadcast along axes of size one."""
    positions, copies = copied(coefficient.positions, before, range(len(before)), after)
    values = jnp.repeat(coefficient.values, copies, axis=-1)
    step = ("broadcast", before, after)
    return coefficient.moved_to(positions, values, step, coefficient.distinct)


def copied(
    positions: Any, before: Sequence[int], axes: Sequence[int], after: Sequence[int]
) -> tuple[Any, int]:
    """The positions in an array of another shape, of which the given axes are those before, or were
    of size one; each several times over, and how often.
    """
    coordinates: list[Any] = [positions * 0] * len(after)
    copies = list(after)
    for i, axis, size in zip(unravel(positions, before), axes, before, strict=True):
        if size == after[axis]:
            coordinates[axis], copies[axis] = i, 1
    base, count = ravel(coordinates, after, positions), math.prod(copies)
    if count == 1:
        return base, 1
    strides = np.array([math.prod(after[axis + 1 :]) for axis in range(len(after))])
    offsets = (strides @ np.indices(copies).reshape(len(after), -1)).astype(np.int32)
    flat = base[..., None] + offsets.reshape((1,) * base.ndim + (-1,))
    return flat.reshape(*base.shape[:-1], base.shape[-1] * count), count


def collapse(coefficient: ByDirection, weights: Any) -> ByDirection:
    """Σ_r w_r c_r: the same entries, no longer told apart by direction."""
    values = coefficient.values
    weights = jnp.asarray(weights).astype(values.dtype)[..., None]
    values = values.reshape((1,) * (weights.ndim - values.ndim) + values.shape)
    return coefficient.with_values(weights * values, distinct=False)


def entry_axes(coefficient: ByDirection, lead: int) -> tuple[int, ...]:
    return tuple(range(lead, coefficient.values.ndim))


def to_dense(coefficient: ByDirection, lead: int, shape: tuple[int, ...]) -> Full:
    """The coefficient as an array."""
    lead_shape = coefficient.values.shape[:lead]
    size = math.prod(shape)
    if size == 1:
        total = jnp.sum(coefficient.values, axis=entry_axes(coefficient, lead))
        return Full(total.reshape(*lead_shape, *shape))
    values = coefficient.values.reshape(math.prod(lead_shape), -1)
    positions = jnp.asarray(coefficient.positions)
    entries = coefficient.values.shape[lead:]
    positions = jnp.broadcast_to(positions, (*lead_shape, *entries)).reshape(values.shape)
    if size <= FEW:
        here = positions[:, :, None] == jnp.arange(size, dtype=np.int32)[None, None, :]
        array = jnp.sum(jnp.where(here, values[:, :, None], jnp.zeros((), values.dtype)), axis=1)
    else:
        array = zeros_for(values, (values.shape[0], size), values.dtype)
        array = array.at[np.arange(values.shape[0])[:, None], positions].add(values)
    return Full(array.reshape(*lead_shape, *shape))


def size_of(coefficient: ByDirection, lead: int) -> int:
    """How many entries a direction has."""
    return math.prod(coefficient.values.shape[lead:])

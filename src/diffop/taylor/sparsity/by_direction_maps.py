"""Where the entries of coefficients by direction go under primitives that only move entries about:
for each primitive, where a position goes, and whether it stays.
"""

import functools
import math
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from ..coefficients import ByDirection, Coefficient, Full, scale
from ..equation import LinearMap
from . import by_direction
from .numbers import are_different, readers


class Moved(NamedTuple):
    """New flat positions, shaped like the old ones with the last axis times `copies`, or None for
    the same; where `keep` is false the entry is lost. `merging` if two positions may become one.
    Values are multiplied with the `sign`.
    """

    positions: Any = None
    keep: Any = None
    copies: int = 1
    merging: bool = False
    sign: int = 1


Coordinates: TypeAlias = list[Any]
IndexMap: TypeAlias = Callable[[LinearMap, int, Any], Moved | list[Moved] | None]
"""Of a primitive with several outputs, one `Moved` for each; None where entries become arrays."""
ByDirectionMap: TypeAlias = Callable[[LinearMap, int, ByDirection, int], list[Coefficient] | None]
"""The images of a coefficient by direction in place of the k-th linear operand, behind so many
leading axes; None where they are not by direction.
"""


def on_values(
    function: LinearMap, k: int, coefficient: ByDirection, lead: int
) -> list[Coefficient] | None:
    """Values change, each where it is."""
    return [coefficient.with_values(*function.at([coefficient.values]))]


def by_position(index_map: IndexMap, otherwise: ByDirectionMap | None = None) -> ByDirectionMap:
    """Entries move as their positions do, or `otherwise` where these do not say how. Positions are
    mapped once, whatever the order of the coefficient that they belong to.
    """

    def move(
        function: LinearMap, k: int, coefficient: ByDirection, lead: int
    ) -> list[Coefficient] | None:
        key = (k, coefficient.source)
        if key not in function.memo:
            moved = index_map(function, k, coefficient.positions)
            function.memo[key] = [moved] if isinstance(moved, Moved) else moved
        if function.memo[key] is None:
            return None if otherwise is None else otherwise(function, k, coefficient, lead)
        return [
            scale(_entries(function, (k, i), coefficient, moved), moved.sign)
            for i, moved in enumerate(function.memo[key])
        ]

    return move


def _step(function: LinearMap) -> Hashable:
    """Equal equations move equal positions alike, unless they do by what is not known."""
    still = [x for p, x in enumerate(function.operands) if p not in function.chosen]
    if any(isinstance(operand, Tracer) for operand in still):
        return object()
    indices = tuple((x.shape, x.dtype, x.tobytes()) for x in map(np.asarray, still))
    shapes = tuple(jnp.shape(function.primal(k)) for k in range(len(function.chosen)))
    return function.eqn.primitive, str(function.params), shapes, indices


def _entries(
    function: LinearMap, output: tuple[int, int], coefficient: ByDirection, moved: Moved
) -> ByDirection:
    values = coefficient.values
    if moved.copies > 1:
        values = jnp.repeat(values, moved.copies, axis=-1)
    if moved.keep is not None:
        keep = jnp.asarray(moved.keep)
        keep = jnp.broadcast_to(
            keep.reshape((1,) * (values.ndim - keep.ndim) + keep.shape), values.shape
        )
        values = jnp.where(keep, values, jnp.zeros((), values.dtype))
    distinct = coefficient.distinct and not moved.merging
    if moved.positions is None:
        return coefficient.with_values(values, distinct)
    if "step" not in function.memo:
        function.memo["step"] = _step(function)
    step = (function.memo["step"], output)
    return coefficient.moved_to(moved.positions, values, step, distinct, moved.keep)


def _moved(
    positions: Any,
    before: Sequence[int],
    after: Sequence[int],
    change: Callable[[Coordinates], Coordinates],
    lossy: bool = False,
) -> Moved:
    """Positions whose coordinates change; entries are lost where these are outside, if they can
    be.
    """
    coordinates = change(by_direction.unravel(positions, before))
    keep = _inside(coordinates, after) if lossy else None
    return Moved(by_direction.ravel(coordinates, after, positions), keep)


def _inside(coordinates: Coordinates, shape: Sequence[int]) -> Any:
    here = [(i >= 0) & (i < size) for i, size in zip(coordinates, shape, strict=True)]
    return functools.reduce(operator.and_, here) if here else None


def _shapes(function: LinearMap, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return jnp.shape(function.primal(k)), jnp.shape(function.outputs[0])


def kept(function: LinearMap, k: int, positions: Any) -> Moved:
    return Moved()


def sliced(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    starts, strides = function.params["start_indices"], function.params["strides"]

    def change(coordinates: Coordinates) -> Coordinates:
        shifted = [i - start for i, start in zip(coordinates, starts, strict=True)]
        if strides is None:
            return shifted
        # −1 between two that are read
        between = [(i % n).clip(0, 1) for i, n in zip(shifted, strides, strict=True)]
        return [
            (1 - no) * (i // n + 1) - 1 for no, i, n in zip(between, shifted, strides, strict=True)
        ]

    return _moved(positions, before, after, change, lossy=True)


def flipped(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    axes = function.params["dimensions"]
    return _moved(
        positions,
        before,
        after,
        lambda at: [before[a] - 1 - i if a in axes else i for a, i in enumerate(at)],
    )


def transposed(function: LinearMap, k: int, positions: Any) -> Moved:
    order = function.params["permutation"]
    return _moved(positions, *_shapes(function, k), lambda at: [at[axis] for axis in order])


def padded(function: LinearMap, k: int, positions: Any) -> Moved | None:
    padding = function.params["padding_config"]
    if k != 0:
        return None
    return _moved(
        positions,
        *_shapes(function, k),
        lambda at: [low + i * (n + 1) for i, (low, _, n) in zip(at, padding, strict=True)],
        lossy=True,
    )


def concatenated(function: LinearMap, k: int, positions: Any) -> Moved:
    axis = function.params["dimension"]
    start = sum(jnp.shape(function.primal(j))[axis] for j in range(k))
    return _moved(
        positions,
        *_shapes(function, k),
        lambda at: [i + start if a == axis else i for a, i in enumerate(at)],
    )


def broadcast(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    axes = tuple(map(int, function.params["broadcast_dimensions"]))
    copied, copies = by_direction.copied(positions, before, axes, after)
    return Moved(copied, copies=copies)


def summed(function: LinearMap, k: int, positions: Any) -> Moved:
    axes = function.params["axes"]
    kept = _moved(
        positions,
        *_shapes(function, k),
        lambda at: [i for axis, i in enumerate(at) if axis not in axes],
    )
    return kept._replace(merging=True)


def dynamically_sliced(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    return _cut_out(positions, before, _clamped(function.operands[1:], before, after), after)


def _cut_out(
    positions: Any, before: Sequence[int], starts: Sequence[Any], after: Sequence[int]
) -> Moved:
    return _moved(
        positions,
        before,
        after,
        lambda at: [i - start for i, start in zip(at, starts, strict=True)],
        lossy=True,
    )


def split(function: LinearMap, k: int, positions: Any) -> list[Moved]:
    before, axis, start = jnp.shape(function.primal(0)), function.params["axis"], 0
    parts = []
    for after in map(jnp.shape, function.outputs):
        starts = [start if a == axis else 0 for a in range(len(before))]
        parts.append(_cut_out(positions, before, starts, after))
        start += after[axis]
    return parts


def updated(function: LinearMap, k: int, positions: Any) -> Moved:
    whole, update = jnp.shape(function.operands[0]), jnp.shape(function.operands[1])
    starts = _clamped(function.operands[2:], whole, update)
    if k == 1:
        return _moved(
            positions,
            update,
            whole,
            lambda at: [i + start for i, start in zip(at, starts, strict=True)],
        )
    covered = _cut_out(positions, whole, starts, update).keep
    return Moved(keep=None if covered is None else ~covered)


def _clamped(starts: Sequence[Any], whole: Sequence[int], part: Sequence[int]) -> list[Any]:
    """Start indices as dynamic slices use them: moved so that the slice fits."""
    return [
        jnp.clip(jnp.asarray(start).astype(np.int32), 0, size - length)
        for start, size, length in zip(starts, whole, part, strict=True)
    ]


def selected(function: LinearMap, k: int, positions: Any) -> Moved:
    which = by_direction.entries_at(function.operands[0], positions, jnp.shape(function.outputs[0]))
    chosen = which == k if which.dtype != bool else (which if k else ~which)
    return Moved(keep=jnp.broadcast_to(chosen, positions.shape))


def overwritten(function: LinearMap, k: int, positions: Any) -> Moved:
    """Entries under the updates are lost."""
    if k == 0:
        mask = not_overwritten(function)
        return Moved(keep=by_direction.entries_at(mask, positions, mask.shape))
    return _written(function, positions)


def added(function: LinearMap, k: int, positions: Any) -> Moved:
    return Moved() if k == 0 else _written(function, positions)._replace(merging=True)


def subtracted(function: LinearMap, k: int, positions: Any) -> Moved:
    return added(function, k, positions)._replace(sign=1 if k == 0 else -1)


def _written(function: LinearMap, positions: Any) -> Moved:
    """The entries of a scatter's updates."""
    targets = written(function.params, *function.operands)
    found = _lookup(targets.reshape(-1, 1), positions)
    return Moved(found.clip(0), found >= 0)


def not_overwritten(function: LinearMap) -> Any:
    """Where a `scatter` or a `dynamic_update_slice` leaves its first linear operand as it is."""
    operands = list(function.operands)
    for k, array in enumerate((jnp.ones, jnp.zeros)):
        operands[function.chosen[k]] = array(jnp.shape(function.primal(k)), bool)
    return function.at(operands)[0]


def written(params: dict[str, Any], operand: Any, indices: Any, updates: Any) -> Any:
    """For each entry of a scatter's updates the flat position that it is written to, −1 for none:
    as a numpy array where the indices are known.
    """
    d, shape = params["dimension_numbers"], jnp.shape(operand)
    single = (*d.inserted_window_dims, *d.operand_batching_dims)
    windows = iter([jnp.shape(updates)[axis] for axis in d.update_window_dims])
    gathering = lax.GatherDimensionNumbers(
        offset_dims=d.update_window_dims,
        collapsed_slice_dims=d.inserted_window_dims,
        start_index_map=d.scatter_dims_to_operand_dims,
        operand_batching_dims=d.operand_batching_dims,
        start_indices_batching_dims=d.scatter_indices_batching_dims,
    )
    sizes = [1 if axis in single else next(windows) for axis in range(len(shape))]

    def read() -> jax.Array:
        positions = lax.iota(np.int32, math.prod(shape)).reshape(shape)
        mode = params["mode"]
        return lax.gather(positions, indices, gathering, sizes, mode=mode, fill_value=-1)

    if isinstance(indices, Tracer):
        return read()
    with jax.ensure_compile_time_eval():
        return np.asarray(read())


def writes_apart(params: dict[str, Any], operand: Any, indices: Any, updates: Any) -> bool:
    """Whether a scatter is known to write no entry twice."""
    if params["unique_indices"] or jnp.size(updates) <= 1:
        return True
    targets = written(params, operand, indices, updates)
    if not isinstance(targets, np.ndarray):
        return False
    targets = targets[targets >= 0]
    return are_different(targets)


def gathered(function: LinearMap, k: int, positions: Any) -> Moved | None:
    """Each entry goes to all the places that read it, which a table tells where the indices are
    known.
    """
    before, after = _shapes(function, 0)
    sources = _sources(function)
    if not isinstance(sources, np.ndarray):
        return None
    table = readers(sources.reshape(-1), math.prod(before))
    if table.shape[1] > max(1, math.prod(after) // 4):
        return None
    found = _lookup(table, positions)
    return Moved(found.clip(0), found >= 0, table.shape[1])


def _sources(function: LinearMap) -> Any:
    """For each entry of a gather's output the flat position that it reads, −1 for none: as a numpy
    array where the indices are known.
    """
    shape = jnp.shape(function.primal(0))
    count = math.prod(shape)
    params = filled_with_nothing(function)
    indices = function.operands[1]
    primitive = function.eqn.primitive
    if isinstance(indices, Tracer):
        return primitive.bind(lax.iota(np.int32, count).reshape(shape), indices, **params)
    with jax.ensure_compile_time_eval():
        known = primitive.bind(jnp.arange(count, dtype=np.int32).reshape(shape), indices, **params)
        return np.asarray(known)


def filled_with_nothing(function: LinearMap) -> dict[str, Any]:
    """The parameters of a primitive that moves numbers about: what is outside is −1."""
    params = dict(function.params)
    if "fill_value" in params and params["mode"] == lax.GatherScatterMode.FILL_OR_DROP:
        params["fill_value"] = -1
    return params


def _lookup(table: Any, positions: Any) -> Any:
    found = (table if isinstance(positions, np.ndarray) else jnp.asarray(table))[positions]
    return found.reshape(*positions.shape[:-1], -1)


def compared(
    function: LinearMap, k: int, coefficient: ByDirection, lead: int
) -> list[Coefficient] | None:
    """A gather whose places compare what they read with the positions, if they are no more than
    the entries in all.
    """
    shape = jnp.shape(function.outputs[0])
    if math.prod(shape) > max(by_direction.FEW, coefficient.positions.size):
        return None
    sources = jnp.asarray(_sources(function)).reshape(-1)
    values = coefficient.values
    positions = jnp.asarray(coefficient.positions).astype(sources.dtype)
    positions = jnp.broadcast_to(
        positions.reshape((1,) * (values.ndim - positions.ndim) + positions.shape), values.shape
    )
    read = positions[..., None] == sources.reshape((1,) * positions.ndim + (-1,))
    array = jnp.where(read, values[..., None], jnp.zeros((), values.dtype))
    summed = jnp.sum(array, axis=by_direction.entry_axes(coefficient, lead))
    return [Full(summed.reshape(*values.shape[:lead], *shape))]

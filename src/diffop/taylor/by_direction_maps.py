"""Where the entries of coefficients by direction go under primitives that only move entries about:
for each primitive, where a position goes, and whether it stays.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from . import by_direction
from .coefficients import ByDirection, Coefficient, Full, scale
from .equation import LinearMap
from .numbers import readers
from .source import Source


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


def _source(function: LinearMap, output: tuple[int, int], coefficient: ByDirection) -> Source:
    """Equal equations move equal positions alike, unless they do by what is not known."""
    if "step" not in function.memo:
        function.memo["step"] = _step(function)
    return Source((function.memo["step"], output), coefficient.source)


def _step(function: LinearMap) -> Hashable:
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
    source = _source(function, output, coefficient)
    return ByDirection(moved.positions, values, distinct, source)


def _flat(coordinates: Coordinates, shape: Sequence[int], positions: Any) -> Any:
    """Flat positions, of those that were at `positions`; coordinates outside are moved to the
    border, for entries that are lost.
    """
    if not shape:
        return positions * 0
    flat: Any = 0
    for coordinate, size in zip(coordinates, shape, strict=True):
        flat = flat * size + coordinate.clip(0, max(size - 1, 0))
    return flat


def _inside(coordinates: Coordinates, shape: Sequence[int]) -> Any:
    keep: Any = None
    for coordinate, size in zip(coordinates, shape, strict=True):
        here = (coordinate >= 0) & (coordinate < size)
        keep = here if keep is None else keep & here
    return keep


def _shapes(function: LinearMap, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return jnp.shape(function.primal(k)), jnp.shape(function.outputs[0])


def kept(function: LinearMap, k: int, positions: Any) -> Moved:
    return Moved()


def sliced(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    starts = function.params["start_indices"]
    strides = function.params["strides"] or (1,) * len(before)
    coordinates, keep = [], None
    for i, start, stride, size in zip(
        by_direction.unravel(positions, before), starts, strides, after, strict=True
    ):
        shifted = i - start
        coordinates.append(shifted // stride)
        here = (shifted >= 0) & (shifted % stride == 0) & (shifted // stride < size)
        keep = here if keep is None else keep & here
    return Moved(_flat(coordinates, after, positions), keep)


def flipped(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    coordinates = by_direction.unravel(positions, before)
    for axis in function.params["dimensions"]:
        coordinates[axis] = before[axis] - 1 - coordinates[axis]
    return Moved(_flat(coordinates, after, positions))


def transposed(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    coordinates = by_direction.unravel(positions, before)
    permuted = [coordinates[axis] for axis in function.params["permutation"]]
    return Moved(_flat(permuted, after, positions))


def padded(function: LinearMap, k: int, positions: Any) -> Moved | None:
    if k != 0:
        return None
    before, after = _shapes(function, k)
    coordinates = [
        low + i * (interior + 1)
        for i, (low, _, interior) in zip(
            by_direction.unravel(positions, before), function.params["padding_config"], strict=True
        )
    ]
    return Moved(_flat(coordinates, after, positions), _inside(coordinates, after))


def concatenated(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    axis = function.params["dimension"]
    coordinates = by_direction.unravel(positions, before)
    start = sum(jnp.shape(function.primal(j))[axis] for j in range(k))
    coordinates[axis] = coordinates[axis] + start
    return Moved(_flat(coordinates, after, positions))


def broadcast(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    dims = function.params["broadcast_dimensions"]
    coordinates: Coordinates = [positions * 0] * len(after)
    copied = list(after)
    for i, axis, size in zip(by_direction.unravel(positions, before), dims, before, strict=True):
        if size == after[axis]:
            coordinates[axis], copied[axis] = i, 1
    base = _flat(coordinates, after, positions)
    strides = [math.prod(after[axis + 1 :]) for axis in range(len(after))]
    grid = np.indices(copied).reshape(len(after), -1) if after else np.zeros((0, 1), int)
    offsets = np.asarray(strides, int) @ grid if after else np.zeros(1, int)
    return _copied(base, offsets)


def _copied(base: Any, offsets: np.ndarray) -> Moved:
    """Each position several times over."""
    if offsets.size == 1:
        return Moved(base + int(offsets[0]))
    shape = (*base.shape[:-1], base.shape[-1] * offsets.size)
    offsets = offsets.astype(np.int32).reshape((1,) * base.ndim + (-1,))
    return Moved((base[..., None] + offsets).reshape(shape), None, offsets.size)


def summed(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    coordinates = by_direction.unravel(positions, before)
    kept = [i for axis, i in enumerate(coordinates) if axis not in function.params["axes"]]
    return Moved(_flat(kept, after, positions), merging=True)


def dynamically_sliced(function: LinearMap, k: int, positions: Any) -> Moved:
    before, after = _shapes(function, k)
    starts = _clamped(function.operands[1:], before, after)
    coordinates = [
        i - start for i, start in zip(by_direction.unravel(positions, before), starts, strict=True)
    ]
    return Moved(_flat(coordinates, after, positions), _inside(coordinates, after))


def updated(function: LinearMap, k: int, positions: Any) -> Moved:
    whole, update = jnp.shape(function.operands[0]), jnp.shape(function.operands[1])
    starts = _clamped(function.operands[2:], whole, update)
    if k == 1:
        coordinates = [
            i + start
            for i, start in zip(by_direction.unravel(positions, update), starts, strict=True)
        ]
        return Moved(_flat(coordinates, whole, positions))
    shifted = [
        i - start for i, start in zip(by_direction.unravel(positions, whole), starts, strict=True)
    ]
    inside = _inside(shifted, update)
    return Moved(keep=None if inside is None else ~inside)


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


def are_different(params: dict[str, Any], operand: Any, indices: Any, updates: Any) -> bool:
    """Whether a scatter is known to write no entry twice."""
    if params["unique_indices"] or jnp.size(updates) <= 1:
        return True
    targets = written(params, operand, indices, updates)
    if not isinstance(targets, np.ndarray):
        return False
    targets = targets[targets >= 0]
    return np.unique(targets).size == targets.size


def split(function: LinearMap, k: int, positions: Any) -> list[Moved]:
    before = jnp.shape(function.primal(0))
    axis, start = function.params["axis"], 0
    parts = []
    for output in function.outputs:
        after = jnp.shape(output)
        coordinates = by_direction.unravel(positions, before)
        coordinates[axis] = coordinates[axis] - start
        parts.append(Moved(_flat(coordinates, after, positions), _inside(coordinates, after)))
        start += after[axis]
    return parts


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

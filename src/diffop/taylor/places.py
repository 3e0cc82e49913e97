"""Relations of primitives that only move entries: where the entries of the k-th linear operand go,
in each output, with the other operands zero.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from ..arrays import wide
from ..coefficients.coordinate import NOWHERE, Coordinate, along, at, stepped, variables
from ..coefficients.index import Traced, known
from ..coefficients.relations import Relation, reshape, unchanged
from ..devices import computed_at_once
from ..source import Source
from .equation import LinearMap

Relations: TypeAlias = list[Relation] | None
Places: TypeAlias = tuple[Coordinate, ...]


def _shapes(function: LinearMap, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return jnp.shape(function.primal(k)), jnp.shape(function.outputs[0])


def reshaped(function: LinearMap, k: int) -> Relations:
    return [reshape(*_shapes(function, k))]


def transposed(function: LinearMap, k: int) -> Relations:
    before, after = _shapes(function, k)
    return [_written(before, tuple(map(along, function.params["permutation"])), after)]


def summed(function: LinearMap, k: int) -> Relations:
    before, after = _shapes(function, k)
    kept = (v for v in range(len(before)) if v not in function.params["axes"])
    return [_written(before, tuple(map(along, kept)), after)]


def summed_in_windows(function: LinearMap, k: int) -> Relations:
    """dilation · i = stride · o + dilation · j − padding along each axis, for all places j in the
    window of o, as in a convolution.
    """
    before, after = _shapes(function, k)
    count, params = len(before), function.params
    names = ("base_dilation", "window_strides", "window_dilation")
    equations = []
    for v in range(count):
        spread, stride, between = (int(params[name][v]) for name in names)
        within = stepped(-int(params["padding"][v][0]), {count + v: between, 2 * count + v: stride})
        equations.append((along(v, spread), within))
    sizes = (*before, *map(int, params["window_dimensions"]), *after)
    output = variables(count, 2 * count)
    return [Relation(sizes, (variables(count),), output, after, tuple(equations))]


def broadcast(function: LinearMap, k: int) -> Relations:
    before, after = _shapes(function, k)
    axes = function.params["broadcast_dimensions"]
    operand = tuple(
        along(int(axis)) if size == after[axis] else NOWHERE
        for axis, size in zip(axes, before, strict=True)
    )
    return [_read(after, operand)]


def flipped(function: LinearMap, k: int) -> Relations:
    shape, _ = _shapes(function, k)
    turned = function.params["dimensions"]
    output = tuple(
        along(v, -1, size - 1) if v in turned else along(v) for v, size in enumerate(shape)
    )
    return [_written(shape, output, shape)]


def _read(shape: tuple[int, ...], operand: Places) -> Relation:
    """The relation of an output that reads its operand at these places."""
    return Relation(shape, (operand,), variables(len(shape)), shape)


def _written(before: tuple[int, ...], output: Places, after: tuple[int, ...]) -> Relation:
    """The relation of an operand that is written to these places."""
    return Relation(before, (variables(len(before)),), output, after)


def sliced(function: LinearMap, k: int) -> Relations:
    _, after = _shapes(function, k)
    steps = zip(function.params["strides"] or (1,) * len(after), function.params["start_indices"])
    return [_read(after, tuple(along(v, int(a), int(b)) for v, (a, b) in enumerate(steps)))]


def split(function: LinearMap, k: int) -> Relations:
    axis, start, parts = function.params["axis"], 0, []
    for shape in map(jnp.shape, function.outputs):
        parts.append(_read(shape, _shifted(shape, axis, start)))
        start += shape[axis]
    return parts


def concatenated(function: LinearMap, k: int) -> Relations:
    before, after = _shapes(function, k)
    axis = function.params["dimension"]
    start = sum(jnp.shape(function.primal(j))[axis] for j in range(k))
    return [_written(before, _shifted(before, axis, start), after)]


def _shifted(shape: Sequence[int], axis: int | np.integer, start: int) -> Places:
    return tuple(along(v, 1, start if v == axis else 0) for v in range(len(shape)))


def padded(function: LinearMap, k: int) -> Relations:
    """Low, high and interior padding; entries that are cut off are not in the output."""
    if k != 0:
        return None
    before, after = _shapes(function, k)
    count = len(before)
    equations = tuple(
        (along(v, int(between) + 1, int(low)), along(count + v))
        for v, (low, _, between) in enumerate(function.params["padding_config"])
    )
    operand = variables(count)
    output = variables(count, count)
    return [Relation((*before, *after), (operand,), output, after, equations)]


def _from(numbers: Sequence[Any], whole: Sequence[int], part: Sequence[int]) -> Places:
    """The places of a dynamic slice: its start indices are clipped so that it fits."""
    found: list[Coordinate] = []
    for v, (number, size, length) in enumerate(zip(numbers, whole, part, strict=True)):
        if isinstance(number, Tracer):
            start = wide(number).clip(0, size - length).astype(np.int32)
            places = start + jnp.arange(length, dtype=np.int32)
            found.append(at(v, Traced(places, Source(), 0, size - 1)))
        else:
            found.append(along(v, 1, int(np.clip(np.asarray(number), 0, size - length))))
    return tuple(found)


def dynamically_sliced(function: LinearMap, k: int) -> Relations:
    before, after = _shapes(function, k)
    return [_read(after, _from(function.operands[1:], before, after))]


def updated(function: LinearMap, k: int) -> Relations:
    whole, update = jnp.shape(function.operands[0]), jnp.shape(function.operands[1])
    if k == 0:
        return [unchanged(whole, _left_as_it_is(function))]
    return [_written(update, _from(function.operands[2:], whole, update), whole)]


def selected(function: LinearMap, k: int) -> Relations:
    which = function.operands[0]
    which = which if isinstance(which, Tracer) else np.asarray(which)
    if which.dtype != bool:
        which = wide(which).clip(0, len(function.operands) - 2)
    return [unchanged(jnp.shape(function.outputs[0]), which.astype(np.int32) == k)]


def overwritten(function: LinearMap, k: int) -> Relations:
    """Entries that are overwritten by the updates are lost."""
    if k == 0:
        return [unchanged(jnp.shape(function.operands[0]), _left_as_it_is(function))]
    return added(function, k)


def added(function: LinearMap, k: int) -> Relations:
    shape = jnp.shape(function.operands[0])
    if k == 0:
        return [unchanged(shape)]
    numbers = function.params["dimension_numbers"]
    indexing = lax.GatherDimensionNumbers(
        offset_dims=numbers.update_window_dims,
        collapsed_slice_dims=numbers.inserted_window_dims,
        start_index_map=numbers.scatter_dims_to_operand_dims,
        operand_batching_dims=numbers.operand_batching_dims,
        start_indices_batching_dims=numbers.scatter_indices_batching_dims,
    )
    update = jnp.shape(function.operands[2])
    windows = iter([update[axis] for axis in numbers.update_window_dims])
    single = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    slices = [1 if axis in single else next(windows) for axis in range(len(shape))]
    return _indexed(function, indexing, slices, shape, update, writes=True)


def gathered(function: LinearMap, k: int) -> Relations:
    shape, after = _shapes(function, k)
    params = function.params
    return _indexed(
        function, params["dimension_numbers"], params["slice_sizes"], shape, after, writes=False
    )


def subtracted(function: LinearMap, k: int) -> Relations:
    return [each._replace(sign=-1 if k else 1) for each in added(function, k) or ()]


def _indexed(
    function: LinearMap,
    numbers: lax.GatherDimensionNumbers,
    slices: Sequence[int],
    shape: tuple[int, ...],
    windows: tuple[int, ...],
    writes: bool,
) -> Relations:
    """The relation between an array of a `shape` and windows of it at some indices: a gather reads
    the windows, a scatter writes them. Windows that cross the border are cut off, or left out.
    """
    indices, mode = function.operands[1], function.params["mode"]
    batch = [axis for axis in range(len(windows)) if axis not in numbers.offset_dims]
    count = math.prod(windows[axis] for axis in batch)
    most = [shape[axis] - slices[axis] for axis in numbers.start_index_map]
    traced = isinstance(indices, Tracer)
    columns, inside = _starts_of(indices if traced else np.asarray(indices), count, most)
    # the first variable numbers the windows; their coordinates along the batch follow from it
    grid = np.indices([windows[axis] for axis in batch], np.int32).reshape(len(batch), count)
    free = numbers.offset_dims
    kept = [
        axis
        for axis in range(len(shape))
        if axis not in numbers.collapsed_slice_dims and axis not in numbers.operand_batching_dims
    ]
    of_array = [NOWHERE] * len(shape)
    of_windows = [NOWHERE] * len(windows)
    for variable, (axis, own) in enumerate(zip(free, kept, strict=True), start=1):
        of_windows[axis] = of_array[own] = along(variable)
    for axis, row in zip(batch, grid, strict=True):
        of_windows[axis] = at(0, known(row))
    for i, axis in enumerate(numbers.start_index_map):
        source = Source(("indices", i), function.memo.setdefault("indices", Source()))
        start = Traced(columns[i], source, 0, most[i]) if traced else known(columns[i])
        of_array[axis] = Coordinate(0, {**of_array[axis].terms, 0: start})
    batching = numbers.operand_batching_dims, numbers.start_indices_batching_dims
    for own, axis in zip(*batching, strict=True):
        of_array[own] = at(0, known(grid[axis]))
    sizes = (count, *(windows[axis] for axis in free))
    keep, modes = None, lax.GatherScatterMode
    drops = mode == modes.FILL_OR_DROP or (writes and mode != modes.CLIP)
    if drops and not (isinstance(inside, np.ndarray) and inside.all()):
        keep = inside, (along(0),)
    ends = (of_windows, of_array) if writes else (of_array, of_windows)
    operand, output = map(tuple, ends)
    return [Relation(sizes, (operand,), output, shape if writes else windows, keep=keep)]


def _starts_of(indices: Any, count: int, most: Sequence[int]) -> tuple[list[Any], Any]:
    """The first places of windows along each indexed axis, clipped so that the windows fit, and
    which windows did before.
    """
    flat = wide(indices).reshape(count, indices.shape[-1])
    columns = [flat[:, i] for i in range(len(most))]
    inside: Any = np.ones(count, bool)
    for column, last in zip(columns, most, strict=True):
        inside = inside & (column >= 0) & (column <= last)
    pairs = zip(columns, most, strict=True)
    return [column.clip(0, last).astype(np.int32) for column, last in pairs], inside


def _left_as_it_is(function: LinearMap) -> Any:
    """The places where a `scatter` or `dynamic_update_slice` keeps its first linear operand."""
    operands = list(function.operands)
    for k, array in enumerate((jnp.ones, jnp.zeros)):
        operands[function.chosen[k]] = array(jnp.shape(function.primal(k)), bool)
    if any(isinstance(operand, Tracer) for operand in operands):
        return function.at(operands)[0]
    return computed_at_once(lambda: np.asarray(function.at(operands)[0]))


def writes_apart(params: dict[str, Any], operand: Any, indices: Any, updates: Any) -> bool:
    """Whether a scatter is known to write no entry twice."""
    if params["unique_indices"] or jnp.size(updates) <= 1:
        return True
    if isinstance(indices, Tracer):
        return False
    numbers, mode = params["dimension_numbers"], params["mode"]

    def counts() -> np.ndarray:
        ones, zeros = (
            array(jnp.shape(each), np.int32)
            for array, each in ((jnp.ones, updates), (jnp.zeros, operand))
        )
        sums = lax.scatter_add(zeros, jnp.asarray(indices), ones, numbers, mode=mode)
        return np.asarray(sums)

    return bool((computed_at_once(counts) <= 1).all())

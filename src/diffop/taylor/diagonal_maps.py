"""`Diagonal` coefficients under primitives that only move entries about: the primitive itself acts
on the values, and while tracing on the numbers.
"""

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from . import diagonal
from .arrays import zeros_like
from .coefficients import Coefficient, Diagonal
from .equation import LinearMap
from .index_maps import ON_VALUES, filled_with_nothing, not_overwritten, written
from .numbers import Numbers, readers

_STRUCTURAL = {
    *("reshape", "squeeze", "slice", "rev", "transpose", "pad", "concatenate", "broadcast_in_dim"),
    *("gather", "dynamic_slice", "split", "dynamic_update_slice", "scatter"),
}
"""Primitives whose outputs are entries of their linear operands, moved about."""


def move_diagonal(function: LinearMap, k: int, coefficient: Diagonal) -> list[Coefficient] | None:
    """The images of a diagonal coefficient in place of the k-th linear operand; None where they
    are not diagonal.
    """
    c, name = coefficient, function.name
    dtype = jnp.result_type(function.primal(k))
    if name in ON_VALUES:
        values = diagonal.values_of(diagonal.without_factor(c), dtype)
        values = jax.vmap(lambda column: function.at([column])[0])(values)
        return [Diagonal(values, c.numbers, c.size, c.factor)]
    if name == "reduce_sum":
        return [diagonal.sum_over(c, tuple(map(int, function.params["axes"])), dtype)]
    if name == "select_n":
        return [diagonal.select(c, _chosen(function.operands[0], k), dtype)]
    if name in ("scatter-add", "scatter-sub"):
        return [c] if k == 0 else _added(function, c)
    if name not in _STRUCTURAL or name == "pad" and k != 0:
        return None
    if not _known_indices(function):
        if name not in ("dynamic_update_slice", "scatter") or k != 0:
            return None
        return [diagonal.select(c, not_overwritten(function), dtype)]
    numbers = _moved_numbers(function, k, c)
    nothing = [None] * len(numbers)
    if c.numbers.count == 1 and not c.is_ones:  # the plain primitive, as the primal sees it
        values, lone = nothing, _moved(function, k, diagonal.column(c, 0, dtype))
    else:
        move = jax.vmap(partial(_moved, function, k))
        values, lone = nothing if c.values is None else move(c.values), nothing
    return [
        Diagonal(each, Numbers(number), c.size, c.factor, column)
        for each, number, column in zip(values, numbers, lone, strict=True)
    ]


def _chosen(which: Any, k: int) -> Any:
    which = which if isinstance(which, Tracer) else np.asarray(which)
    return which.astype(np.int32) == k


def _added(function: LinearMap, coefficient: Diagonal) -> list[Coefficient] | None:
    """The updates of a scatter that adds: an entry of the output has the columns of all the
    entries that are added to it.
    """
    c, targets = coefficient, written(function.params, *function.operands)
    if not isinstance(targets, np.ndarray):
        return None
    shape = jnp.shape(function.outputs[0])
    table = readers(targets.reshape(-1), math.prod(shape)).T.reshape(-1, *shape)
    if table.shape[0] * c.numbers.count >= c.size:
        return None
    numbers = np.concatenate(
        [np.where(table >= 0, column.reshape(-1)[table], -1) for column in c.numbers.array]
    )
    values = c.columns
    if values is not None:
        columns = values.reshape(values.shape[0], -1)[:, table]
        columns = jnp.where(table >= 0, columns, jnp.zeros((), values.dtype))
        values = columns.reshape(numbers.shape)
    factor = -c.factor if function.name == "scatter-sub" else c.factor
    return [Diagonal(values, Numbers(numbers), c.size, factor)]


def _known_indices(function: LinearMap) -> bool:
    chosen = set(function.chosen)
    return not any(
        isinstance(operand, Tracer)
        for position, operand in enumerate(function.operands)
        if position not in chosen
    )


def _moved_numbers(function: LinearMap, k: int, coefficient: Diagonal) -> list[np.ndarray]:
    """The primitive on the numbers, −1 being what is not there."""
    shapes = [jnp.shape(function.primal(j)) for j in range(len(function.chosen))]
    columns = []
    params = filled_with_nothing(function)
    with jax.ensure_compile_time_eval():
        for numbers in coefficient.numbers.array:
            operands = list(function.operands)
            for j, shape in enumerate(shapes):
                operands[function.chosen[j]] = np.full(shape, -1, np.int32)
            operands[function.chosen[k]] = numbers
            outputs = function.eqn.primitive.bind(*map(jnp.asarray, operands), **params)
            outputs = outputs if function.eqn.primitive.multiple_results else [outputs]
            columns.append([np.asarray(output) for output in outputs])
    return [np.stack(each) for each in zip(*columns, strict=True)]


def _moved(function: LinearMap, k: int, column: Any) -> list[Any]:
    """The primitive on one column of values, zeros being what is not there."""
    arguments = [
        column if j == k else zeros_like(function.primal(j)) for j in range(len(function.chosen))
    ]
    return function.function(*arguments)

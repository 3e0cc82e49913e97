"""`ByEntry` coefficients under primitives that only move entries about: the primitive itself acts
on the values, and while tracing on the numbers.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..arrays import zeros_like
from ..coefficients import ByEntry, Coefficient, scale
from ..equation import LinearMap
from . import by_entry
from .by_direction_maps import filled_with_nothing, not_overwritten, written
from .numbers import Numbers, readers

Images: TypeAlias = list[Coefficient] | None
"""Of a coefficient by entry in place of the k-th linear operand; None where they are not by
entry.
"""
ByEntryMap: TypeAlias = Callable[[LinearMap, int, ByEntry], Images]


def on_values(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    """Values change, each where it is."""
    c = coefficient
    dtype = jnp.result_type(function.primal(k))
    values = by_entry.whole(c, dtype).columns
    values = jax.vmap(lambda column: function.at([column])[0])(values)
    return [ByEntry(values, c.numbers, c.size, c.factor)]


def summed(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    axes = tuple(map(int, function.params["axes"]))
    return [by_entry.sum_over(coefficient, axes, jnp.result_type(function.primal(k)))]


def selected(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    return [_only(function, k, coefficient, _chosen(function.operands[0], k))]


def added(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    return [coefficient] if k == 0 else _added(function, coefficient)


def subtracted(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    images = added(function, k, coefficient)
    return [scale(each, -1) for each in images] if images and k else images


def overwritten(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    """Entries are moved into an operand, whose other entries are left as they are."""
    if _known_indices(function):
        return moved(function, k, coefficient)
    return [_only(function, k, coefficient, not_overwritten(function))] if k == 0 else None


def padded(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    return moved(function, k, coefficient) if k == 0 else None


def moved(function: LinearMap, k: int, coefficient: ByEntry) -> Images:
    """Entries are moved about, by indices that have to be known."""
    if not _known_indices(function):
        return None
    c = coefficient
    numbers = _moved_numbers(function, k, c)
    move = partial(_moved, function, k)
    if c.is_ones:
        values = [None] * len(numbers)
    elif c.numbers.count == 1:  # the plain primitive, as the primal sees it
        values = move(by_entry.column(c, 0, None))
    else:
        values = jax.vmap(move)(c.values)
    return [
        ByEntry(each, Numbers(number), c.size, c.factor)
        for each, number in zip(values, numbers, strict=True)
    ]


def _only(function: LinearMap, k: int, coefficient: ByEntry, where: Any) -> Coefficient:
    return by_entry.select(coefficient, where, jnp.result_type(function.primal(k)))


def _chosen(which: Any, k: int) -> Any:
    which = which if isinstance(which, Tracer) else np.asarray(which)
    return which.astype(np.int32) == k


def _added(function: LinearMap, coefficient: ByEntry) -> list[Coefficient] | None:
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
    read = by_entry.taken(c, table)
    numbers = Numbers(read.numbers.array.reshape(-1, *shape))
    values = None if read.values is None else read.values.reshape(numbers.array.shape)
    return [ByEntry(values, numbers, c.size, c.factor)]


def _known_indices(function: LinearMap) -> bool:
    chosen = set(function.chosen)
    return not any(
        isinstance(operand, Tracer)
        for position, operand in enumerate(function.operands)
        if position not in chosen
    )


def _moved_numbers(function: LinearMap, k: int, coefficient: ByEntry) -> list[np.ndarray]:
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

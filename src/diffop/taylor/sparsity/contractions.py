"""Products of coefficients of which one at least is structured: entrywise, `dot_general` and
convolutions.

A structured coefficient times a matrix gathers rows of the matrix. Where the product has axes of
the structured operand left (weights shared by blocks of the input) it stays structured.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from ..binding import at_run_time
from ..coefficients import (
    ByDirection,
    ByEntry,
    Coefficient,
    Full,
    Sets,
    Structured,
    sets,
)
from ..equation import BilinearMap
from ..primitive import Form
from . import by_direction, by_entry
from .convolutions import convolution
from .dots import Shapes, by_direction_dot, by_entry_dot


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
    kind = product.output.dtype
    with jax.numpy_dtype_promotion("standard"):
        if jnp.result_type(*product.operands, kind) != kind:
            return None  # the user wants fewer digits than the operands have
    if 0 not in leads:
        if product.form is not Form.DOT:
            return None
        if not (isinstance(left, Structured) and isinstance(right, Structured)):
            return None
        return _meeting(product, _of_type(left, kind), _of_type(right, kind))
    side = 0 if isinstance(left, Structured) else 1  # the other is a primal
    moving, still = (left, right) if side == 0 else (right, left)
    assert isinstance(moving, Structured) and isinstance(still, Full)
    known = not isinstance(product.operands[1 - side], Tracer)
    array = at_run_time(still.array) if known else still.array
    moving, array = _of_type(moving, kind), array.astype(kind)
    if product.form is Form.CONVOLUTION:
        return convolution(product, side, moving, array)
    if product.form is not Form.DOT:
        return None
    shapes = Shapes.of(product, side)
    if isinstance(moving, ByDirection):
        return by_direction_dot(product, shapes, moving, array, leads[side])
    return by_entry_dot(product, shapes, moving, array)


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


def _meeting(
    product: BilinearMap, left: Structured, right: Structured
) -> ByDirection | ByEntry | Full | None:
    """A `dot_general` in which each axis of one operand meets one of the other: with the axes of
    the batch first, the entrywise product, summed over those that are contracted. None where an
    axis is free: what comes out has more entries than went in.
    """
    contract, batch = product.params["dimension_numbers"]
    shapes = [jnp.shape(operand) for operand in product.operands]
    if any(len(c) + len(b) != len(s) for c, b, s in zip(contract, batch, shapes, strict=True)):
        return None
    orders = [(*b, *c) for c, b in zip(contract, batch, strict=True)]
    shape = tuple(shapes[0][axis] for axis in orders[0])
    summed = tuple(range(len(batch[0]), len(shape)))
    if isinstance(left, ByDirection):
        assert isinstance(right, ByDirection)
        first, second = (
            by_direction.transposed(c, s, order)
            for c, s, order in zip((left, right), shapes, orders, strict=True)
        )
        return by_direction.sum_over(by_direction.product(first, second), shape, summed)
    assert isinstance(left, ByEntry) and isinstance(right, ByEntry)
    first, second = map(by_entry.transposed, (left, right), orders)
    entrywise = by_entry.product(first, second, product.output.dtype)
    if entrywise is None:
        return None
    return by_entry.sum_over(entrywise, summed, product.output.dtype)

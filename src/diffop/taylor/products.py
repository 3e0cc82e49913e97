"""Products of coefficients of which at least one is blocks."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from ..arrays import at_run_time
from ..coefficients import relations
from ..coefficients.block import of_array
from ..coefficients.blocks import Blocks, CollapsedWeights, moved, multiplied
from .coefficients import Coefficient, Full
from .equation import BilinearMap
from .primitive import Form


def of_blocks(
    product: BilinearMap,
    operands: Sequence[Coefficient],
    leads: tuple[int, int],
    weights: CollapsedWeights = None,
    summed: int = 0,
) -> Blocks | None:
    """B of two coefficients, or of one and a primal, direction by direction or `summed` with
    weights; None if the result has to become an array.
    """
    relation, kind = product.relation, product.output.dtype
    if relation is None:
        return None
    with jax.numpy_dtype_promotion("standard"):
        if jnp.result_type(*product.operands, kind) != kind:
            return None  # the user asks for fewer digits than the operands have
    blocks: list[Blocks | None] = []
    arrays: list[Any] = []
    for operand, lead, primal in zip(operands, leads, product.operands, strict=True):
        array = None
        if isinstance(operand, Full) and lead:
            operand = as_block(operand, jnp.shape(primal))
        elif isinstance(operand, Full):
            array = operand.array if isinstance(primal, Tracer) else at_run_time(operand.array)
        blocks.append(operand if isinstance(operand, Blocks) else None)
        arrays.append(array)
    how = {} if product.form is Form.ENTRYWISE else _how(product)
    return multiplied(blocks, arrays, relation, weights, kind, summed, **how)


def as_block(c: Full, shape: tuple[int, ...]) -> Blocks:
    """An array with a leading axis, or none, as a coefficient of one block."""
    rows = c.base.reshape(-1, *shape)
    return Blocks((of_array(rows).with_values(rows, c.factor),), rows.shape)


def _how(product: BilinearMap) -> dict[str, Any]:
    names = ("precision", "preferred_element_type")
    return {name: product.params[name] for name in names if name in product.params}


def broadcast_coefficient(
    c: Coefficient, lead: int, before: tuple[int, ...], after: tuple[int, ...]
) -> Coefficient:
    """The coefficient of a value that is broadcast along axes of size one, or from a scalar."""
    if before == after:
        return c
    if isinstance(c, Blocks):
        spread = moved(c, relations.entrywise(after, [before]), None)
        assert spread is not None
        return spread
    if isinstance(c, Full):
        rows, before = c.base.shape[:lead], before or (1,) * len(after)
        array = jnp.broadcast_to(c.base.reshape(*rows, *before), (*rows, *after))
        return Full(array, c.factor)
    return c

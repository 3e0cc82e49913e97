"""Notes about arrays that come from blocks, which allow a shorter way later (see `Image`)."""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from ..coefficients.block import Block
from ..coefficients.blocks import Blocks, dense
from ..source import Source
from . import products
from .coefficients import Coefficient, Full, Image
from .equation import BilinearMap
from .primitive import Form
from .seeds import basis


def noted_product(
    product: BilinearMap,
    operands: Sequence[Coefficient],
    leads: tuple[int, int],
    result: Coefficient,
) -> Coefficient:
    """The product of blocks and a primal, with what is known of it if the blocks are all basis
    vectors of x, each times a number or not:

    - of an entrywise product with y, that its coefficient along e_r is y_r (`Blocks.source`);
    - of a dot with a matrix, that its rows have given B(x, A) (`Image`);
    - of such a dot with numbers, that its rows are those of a matrix, times them (`Full.scaled`).
    """
    side = 0 if isinstance(operands[0], Blocks) else 1
    moving, still = operands[side], operands[1 - side]
    if 0 not in leads or not isinstance(moving, Blocks) or not isinstance(still, Full):
        return result
    (part, *others), shape = moving.parts, moving.shape[1:]
    if others or moving.shape[0] != math.prod(shape) or part.place != basis(shape).parts[0].place:
        return result
    if isinstance(result, Blocks):
        lone = part.values is None and result.shape[1:] == shape == still.base.shape
        if lone and still.image is not None and product.form is Form.ENTRYWISE:
            return Blocks(result.parts, result.shape, still.image.source)
        return result
    if not isinstance(result, Full) or product.form is not Form.DOT:
        return result
    if not _is_whole(product, side):
        return result
    # from here on, each direction has one row of the matrix
    if part.values is None:
        return Full(result.base, result.factor, _image(product, side))
    # the same product without the numbers gives the rows alone
    ones = [
        Blocks((Block(None, *part.place),), moving.shape) if c is moving else c for c in operands
    ]
    rows = products.of_blocks(product, ones, leads)
    if rows is None:
        return result
    matrix = dense(rows, result.base.dtype).reshape(moving.shape[0], -1)
    return Full(result.base, result.factor, scaled=(part.values.reshape(-1), matrix))


def noted_sum(operand: Blocks, result: Coefficient, output: Any) -> Coefficient:
    """The sum of all entries of a value, whose coefficient has the value's numbers as a row."""
    if operand.source is None or not isinstance(result, Full) or jnp.ndim(output):
        return result
    return Full(result.base, result.factor, Image(operand.source))


def _is_whole(product: BilinearMap, side: int) -> bool:
    """Whether all of an operand is contracted."""
    contract, _ = product.params["dimension_numbers"]
    shape = jnp.shape(product.operands[side])
    return math.prod(n for a, n in enumerate(shape) if a not in contract[side]) == 1


def _image(product: BilinearMap, side: int) -> Image | None:
    """What is known of the rows B(e_r, b), with b on the other side: they have given B(a, b)."""
    operand, rows = product.sources[side], product.sources[1 - side]
    if operand is None:
        return None
    if rows is None or jnp.ndim(product.operands[1 - side]) > 1:
        rows = Source((product.form, str(product.params), side) if rows else None, rows)
    return Image(rows, operand, product.primal)

"""Products (Leibniz) and their inverses, division and triangular solves."""

from collections.abc import Sequence

import jax.extend.core as jex
from jax import lax
from jaxtyping import Array

from ..binding import bind, partially_bound
from ..bundle import (
    Families,
    Family,
    Value,
    broadcast_series,
    dense_series,
    expand,
    primal_of,
)
from ..coefficients import Coefficient, Series
from ..equation import BilinearMap
from ..registry import register
from ..series import divided, leibniz, mapped, quotient

CONTRACTIONS = ("dot_general", "conv_general_dilated", "rows_dot", "rows_outer")
"""Products that sum over axes of their operands."""
BILINEAR = ("mul", *CONTRACTIONS)


@register(*BILINEAR)
def product(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = B(a, b)."""
    left, right = (primal_of(operand) for operand in operands)
    bound = partially_bound(eqn, operands, (0, 1))
    (output,) = bound(left, right)
    multiply = BilinearMap(
        eqn.primitive.name, eqn.params, lambda a, b: bound(a, b)[0], (left, right), output
    )
    return expand(
        families, operands, [output], lambda family, series: [leibniz(family, multiply, *series)]
    )


@register("square")
def square(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = x · x: its derivative is known to be a multiple of x."""
    x = primal_of(operands[0])
    (output,) = bind(eqn, (x,))
    multiply = BilinearMap("mul", {}, lax.mul, (x, x), output)
    return expand(
        families,
        operands,
        [output],
        lambda family, series: [leibniz(family, multiply, series[0], series[0])],
    )


@register("div")
def division(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = b / a solves a y = b."""
    numerator, denominator = (primal_of(operand) for operand in operands)
    (solution,) = bind(eqn, (numerator, denominator))
    multiply = BilinearMap("mul", {}, lax.mul, (denominator, solution), solution)

    def divide(coefficient: Coefficient, lead: int) -> Coefficient:
        return divided(coefficient, lead, denominator, solution)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        above, below = series
        above = broadcast_series(family, above, numerator, solution)
        return [quotient(family, multiply, divide, below, above)]

    return expand(families, operands, [solution], expansion)


@register("triangular_solve")
def triangular_solve(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """y = A⁻¹ b (or b A⁻¹, or with the transpose): op(A) is linear in A, so op(A) y = b is a
    product to invert.
    """
    matrix, rhs = (primal_of(operand) for operand in operands)
    bound = partially_bound(eqn, (matrix, rhs), (1,))
    (solution,) = bound(rhs)

    def multiply(a: Array, y: Array) -> Array:
        a = _as_used(a, eqn.params)
        return lax.batch_matmul(a, y) if eqn.params["left_side"] else lax.batch_matmul(y, a)

    def solve(coefficient: Coefficient, lead: int) -> Coefficient:
        return mapped(lambda b: bound(b)[0], coefficient, lead, solution)

    inner = BilinearMap("triangular_solve", {}, multiply, (matrix, solution), rhs)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        below, above = (
            dense_series(family, s, x, "triangular_solve")
            for s, x in zip(series, (matrix, rhs), strict=True)
        )
        return [quotient(family, inner, solve, below, above)]

    return expand(families, operands, [solution], expansion)


def _as_used(a: Array, params: dict) -> Array:
    """The triangle that the primitive reads, transposed as it is told; a unit diagonal does not
    move.
    """
    triangle = _triangle(a, params["lower"], strict=params["unit_diagonal"])
    if params["transpose_a"]:
        triangle = lax.transpose(triangle, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))
    return triangle.conj() if params["conjugate_a"] else triangle


def _triangle(a: Array, lower: bool, strict: bool) -> Array:
    rows = lax.broadcasted_iota("int32", a.shape, a.ndim - 2)
    columns = lax.broadcasted_iota("int32", a.shape, a.ndim - 1)
    below = rows > columns if lower else rows < columns
    kept = below if strict else below | (rows == columns)
    return lax.select(kept, a, lax.full_like(a, 0))

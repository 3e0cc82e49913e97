"""Products (Leibniz) and their inverses, division and triangular solves."""

from collections.abc import Sequence

import jax.extend.core as jex
from jax import lax
from jaxtyping import Array

from ..binding import bind, partially_bound
from ..bundle import Families, Family, Value, expand, primal_of
from ..coefficients import Series
from ..registry import register
from ..series import leibniz, quotient


@register("mul", "dot_general", "conv_general_dilated")
def product(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = B(a, b)."""
    left, right = (primal_of(operand) for operand in operands)
    multiply = partially_bound(eqn, operands, (0, 1))

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        return [leibniz(family, lambda a, b: multiply(a, b)[0], (left, right), *series)]

    return expand(families, operands, multiply(left, right), expansion)


@register("div")
def division(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = b / a solves a y = b."""
    numerator, denominator = (primal_of(operand) for operand in operands)
    (solution,) = bind(eqn, (numerator, denominator))

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        above, below = series
        return [
            quotient(family, lax.mul, lambda b: lax.div(b, denominator), solution, below, above)
        ]

    return expand(families, operands, [solution], expansion)


@register("triangular_solve")
def triangular_solve(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """y = A⁻¹ b (or b A⁻¹, or with the transpose): op(A) is linear in A, so op(A) y = b is a
    product to invert.
    """
    matrix, rhs = (primal_of(operand) for operand in operands)
    solve = partially_bound(eqn, (matrix, rhs), (1,))
    (solution,) = solve(rhs)

    def multiply(a: Array, y: Array) -> Array:
        a = _as_used(a, eqn.params)
        return lax.batch_matmul(a, y) if eqn.params["left_side"] else lax.batch_matmul(y, a)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        below, above = series
        return [quotient(family, multiply, lambda b: solve(b)[0], solution, below, above)]

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

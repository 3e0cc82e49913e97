"""Rules of products (Leibniz) and of their inverses, divisions and triangular solves."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..arithmetic import linear_map
from ..binding import bind, partially_bound
from ..bundle import (
    Families,
    Family,
    Value,
    broadcast_series,
    dense_value,
    expand_families,
    primal_of,
    source_of,
)
from ..coefficients import Coefficient, Series
from ..equation import BilinearMap, LinearMap
from ..primitive import Form, Primitive, enter, of
from ..series import divided, leibniz, quotient


def bilinear_rule(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = B(a, b)."""
    left, right = (primal_of(operand) for operand in operands)
    bound = partially_bound(eqn, operands, (0, 1))
    (output,) = bound(left, right)
    form = of(eqn).form or Form.OTHER
    sources = (source_of(operands[0]), source_of(operands[1]))
    multiply = BilinearMap(
        form, eqn.params, lambda a, b: bound(a, b)[0], (left, right), output, eqn, sources
    )

    return _multiplied(families, operands, multiply)


def square(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = x · x, whose derivative is known to be a multiple of x."""
    x, source = primal_of(operands[0]), source_of(operands[0])
    (output,) = bind(eqn, (x,))
    multiply = BilinearMap(Form.ENTRYWISE, {}, lax.mul, (x, x), output, sources=(source, source))
    return _multiplied(families, [operands[0]] * 2, multiply)


def _multiplied(families: Families, operands: Sequence[Value], by: BilinearMap) -> list[Value]:
    return expand_families(
        families, operands, [by.output], lambda family, series: [leibniz(family, by, *series)]
    )


def division(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """y = b / a solves a y = b."""
    numerator, denominator = (primal_of(operand) for operand in operands)
    (solution,) = bind(eqn, (numerator, denominator))
    multiply = BilinearMap(Form.ENTRYWISE, {}, lax.mul, (denominator, solution), solution)

    divide = functools.partial(divided, denominator=denominator, primal=solution)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        above, below = series
        above = broadcast_series(family, above, numerator, solution)
        return [quotient(family, multiply, divide, below, above)]

    return expand_families(families, operands, [solution], expansion)


def triangular_solve(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """y = A⁻¹ b (or b A⁻¹, or with the transpose). op(A) is linear in A, so op(A) y = b is a
    product that is inverted.
    """
    operands = [dense_value(operand, families, "triangular_solve") for operand in operands]
    matrix, rhs = (primal_of(operand) for operand in operands)
    (solution,) = bind(eqn, (matrix, rhs))

    def multiply(a: Array, y: Array) -> Array:
        a = _as_used(a, eqn.params)
        return lax.batch_matmul(a, y) if eqn.params["left_side"] else lax.batch_matmul(y, a)

    inverse = LinearMap(eqn, (matrix, rhs), (1,), [solution])

    def solve(coefficient: Coefficient, lead: int) -> Coefficient:
        return linear_map(inverse, lead, [coefficient])[0]

    inner = BilinearMap(Form.OTHER, {}, multiply, (matrix, solution), rhs)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        return [quotient(family, inner, solve, *series)]

    return expand_families(families, operands, [solution], expansion)


def _as_used(a: Array, params: dict) -> Array:
    """The triangle that the primitive reads, transposed if asked for; a unit diagonal is
    constant.
    """
    strict = int(params["unit_diagonal"])
    triangle = jnp.tril(a, -strict) if params["lower"] else jnp.triu(a, strict)
    triangle = triangle.mT if params["transpose_a"] else triangle
    return triangle.conj() if params["conjugate_a"] else triangle


def _shape(eqn: jex.JaxprEqn, position: int) -> tuple[int, ...]:
    operand: Any = eqn.invars[position].aval
    return operand.shape


def _contracted(eqn: jex.JaxprEqn) -> int:
    (contract, _), _ = eqn.params["dimension_numbers"]
    shape = _shape(eqn, 0)
    return math.prod(shape[axis] for axis in contract)


def _reached(eqn: jex.JaxprEqn) -> int:
    """The size of a kernel without its output channels."""
    kernel = _shape(eqn, 1)
    return math.prod(kernel) // kernel[eqn.params["dimension_numbers"].rhs_spec[0]]


def _enter(names: str, form: Form, **known: Any) -> None:
    enter(names.split(), Primitive(bilinear_rule, "bilinear", form=form, **known))


_enter("mul", Form.ENTRYWISE, entrywise=True, on_indices=True)
_enter("dot_general", Form.DOT, summed=_contracted)
_enter("conv_general_dilated", Form.CONVOLUTION, summed=_reached)
enter(["square"], Primitive(square, "bilinear", entrywise=True))
enter(
    ["div"],
    Primitive(
        division,
        "bilinear",
        entrywise=True,
        on_indices=True,
        singular=lambda eqn: not isinstance(eqn.invars[1], jex.Literal),
    ),
)
enter(["triangular_solve"], Primitive(triangular_solve, "bilinear"))

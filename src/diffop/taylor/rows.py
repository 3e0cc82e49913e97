"""Many vectors times one matrix: one two-dimensional product, however many axes the vectors have.

Under `jax.vmap` a coefficient `(directions, width)` times a weight matrix becomes `(points,
directions, width)` times it, and `dot_general` remembers the two axes apart: the gradient by the
matrix then contracts over both, for which XLA on CPUs first transposes an array of all vectors. A
primitive of its own keeps them together: batching adds an axis to the rows, and both transposes are
two-dimensional again. It says by which axis the matrix is summed over, so that the matrix and its
gradient stay as the user has them: sums of gradients in two layouts are read across lines.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array

rows_dot_p = jex.Primitive("rows_dot")
"""`(*rows, k) · (k, h) -> (*rows, h)`, or `(*rows, k) · (h, k)`, by the matrix's `axis` of k."""
rows_outer_p = jex.Primitive("rows_outer")
"""`Σ_rows (*rows, k) ⊗ (*rows, h) -> (k, h)`."""


def rows_dot(rows: Array, matrix: Any, *, axis: int = 0, **params: Any) -> Array:
    """The sum over each row and an axis of a matrix, which may also be a constant of NumPy's."""
    return rows_dot_p.bind(rows, matrix, axis=axis, **params)


def _dot(rows: Array, matrix: Array, axis: int, **params: Any) -> Array:
    flat = _flat(rows)
    product = lax.dot_general(flat, matrix, (((1,), (axis,)), ((), ())), **params)
    return product.reshape(*rows.shape[:-1], matrix.shape[1 - axis])


def _outer(left: Array, right: Array, **params: Any) -> Array:
    left, right = _flat(left), _flat(right)
    return lax.dot_general(left, right, (((0,), (0,)), ((), ())), **params)


def _flat(rows: Array) -> Array:
    """All the rows along one axis, also where they are empty."""
    return rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])


def _dot_dimensions(rows: Any, axis: int) -> Any:
    return ((rows.ndim - 1,), (axis,)), ((), ())


def _outer_dimensions(left: Any, _: int) -> Any:
    axes = tuple(range(left.ndim - 1))
    return (axes, axes), ((), ())


def _define(
    primitive: jex.Primitive, function: Callable[..., Array], dimensions: Callable[[Any, int], Any]
) -> None:
    """Evaluation, shapes (those of the `dot_general` that it is) and lowering."""

    def abstract(left: Any, right: Any, *, axis: int = 0, **params: Any) -> Any:
        numbers = dimensions(left, axis)
        shape = functools.partial(
            lax.dot_general_p.abstract_eval, left, right, dimension_numbers=numbers
        )
        return shape(out_sharding=None, **params)[0]

    static = ("axis", "precision", "preferred_element_type")
    primitive.def_impl(jax.jit(function, static_argnames=static))
    primitive.def_abstract_eval(abstract)
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))


_define(rows_dot_p, _dot, _dot_dimensions)
_define(rows_outer_p, _outer, _outer_dimensions)


def _rows_bar(ct: Array, rows: Any, matrix: Any, axis: int, **params: Any) -> Array:
    return _like(rows, rows_dot_p.bind(ct, matrix, axis=1 - axis, **params))


def _matrix_bar(ct: Array, rows: Any, matrix: Any, axis: int, **params: Any) -> Array:
    pair = (rows, ct) if axis == 0 else (ct, rows)
    return _like(matrix, rows_outer_p.bind(*pair, **params))


def _left_bar(ct: Array, left: Any, right: Any, **params: Any) -> Array:
    return _like(left, rows_dot_p.bind(right, ct, axis=1, **params))


def _right_bar(ct: Array, left: Any, right: Any, **params: Any) -> Array:
    return _like(right, rows_dot_p.bind(left, ct, axis=0, **params))


def _like(operand: Any, ct: Array) -> Array:
    """A cotangent in its operand's type, which `preferred_element_type` says nothing of."""
    return lax.convert_element_type(ct, operand.aval.dtype)


ad.defbilinear(rows_dot_p, _rows_bar, _matrix_bar)
ad.defbilinear(rows_outer_p, _left_bar, _right_bar)


def _batch_dot(
    operands: tuple[Any, Any], axes: tuple[Any, Any], axis: int, **params: Any
) -> tuple[Array, int]:
    (rows, matrix), (row_axis, matrix_axis) = operands, axes
    if row_axis is not None:
        rows = jnp.moveaxis(rows, row_axis, 0)
    if matrix_axis is None:
        return rows_dot_p.bind(rows, matrix, axis=axis, **params), 0
    matrix = jnp.moveaxis(matrix, matrix_axis, 0)
    if row_axis is None:
        numbers = (((rows.ndim - 1,), (1 + axis,)), ((), ()))
        return lax.dot_general(rows, matrix, numbers, **params), rows.ndim - 1
    numbers = (((rows.ndim - 1,), (1 + axis,)), ((0,), (0,)))
    return lax.dot_general(rows, matrix, numbers, **params), 0


def _batch_outer(
    operands: tuple[Array, Array], axes: tuple[Any, Any], **params: Any
) -> tuple[Array, int]:
    left, right = (
        x if axis is None else jnp.moveaxis(x, axis, 0)
        for x, axis in zip(operands, axes, strict=True)
    )
    batched = tuple(axis is not None for axis in axes)
    contract = (
        tuple(range(int(batched[0]), left.ndim - 1)),
        tuple(range(int(batched[1]), right.ndim - 1)),
    )
    if all(batched):
        return lax.dot_general(left, right, (contract, ((0,), (0,))), **params), 0
    # (batch, k, h) where the left operand is batched, (k, batch, h) where the right one is
    return lax.dot_general(left, right, (contract, ((), ())), **params), int(batched[1])


batching.primitive_batchers[rows_dot_p] = _batch_dot
batching.primitive_batchers[rows_outer_p] = _batch_outer

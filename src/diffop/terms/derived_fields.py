"""Coefficient functions made from others: conjugates, divergences of fields, entries of lists.

They are modules that hold the functions from which they are made, and are equal if these are.
"""

from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree

from ..array_types import Vector
from ..jets.field_terms import FactoredForm, MatrixForm
from ..jets.fields import Field, apply_rows, expect_shape, resolve, resolve_vector
from ..jets.index_terms import CoordinateTerms
from ..jets.point import Point
from ..jets.vector_terms import DivergenceTerms
from .evaluate import apply
from .first_derivatives import directional
from .term import Part, factor_term, function_name


@final
class Conjugate(eqx.Module):
    """The complex conjugate of a coefficient function."""

    function: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return f"{function_name(self.function).removesuffix('(x)')}\N{COMBINING MACRON}"

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        return jnp.conj(self.function(*args, **kwargs))


def conjugate(function: Callable[..., Any]) -> Callable[..., Any]:
    """The conjugate of a function; functions derived from fields are real and unchanged."""
    if isinstance(function, Conjugate):
        return function.function
    return function if isinstance(function, DivergenceOf | RowOf) else Conjugate(function)


@final
class DivergenceOf(eqx.Module):
    """div b for a field b of vectors, in some coordinates of an argument."""

    field: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    @property
    def __name__(self) -> str:
        return "div_b"

    def __call__(self, *args: Any, **kwargs: Any) -> Array:

        def vector(*args: Any, **kwargs: Any) -> Vector:
            return resolve_vector(self.field, Point(args, kwargs), self.argnum, "b of Directional")

        divergence = factor_term(DivergenceTerms(self.argnum, self.dims))
        return apply([Part((divergence,), None)], vector, Point(args, kwargs))


@final
class RowDivergence(eqx.Module):
    """The vector Σ_i ∂_i S_ij of a symmetric S: C + Cᵀ for C:∇², σσᵀ for ½σσᵀ:∇²."""

    form: MatrixForm | FactoredForm

    def __call__(self, *args: Any, **kwargs: Any) -> Vector:
        form = self.form

        def symmetric(*args: Any, **kwargs: Any) -> Array:
            value = matrix_of(form.field, Point(args, kwargs), form.argnum, form.dims, str(form))
            if isinstance(form, FactoredForm):  # that of an array has no weights: it is constant
                return value**2 if value.ndim < 2 else value @ value.T
            return 2 * value if value.ndim < 2 else value + value.T

        return row_divergence(symmetric, Point(args, kwargs), form.argnum, form.dims)


@final
class RowOf(eqx.Module):
    """One of the coefficients that a function returns for a list of terms."""

    terms: CoordinateTerms
    row: int = eqx.field(static=True)

    @property
    def __name__(self) -> str:
        return "c"

    def __call__(self, *args: Any, **kwargs: Any) -> Array:
        point, terms = Point(args, kwargs), self.terms
        values = resolve(terms.field, point, terms.argnums, "coefficients of TensorOperator")
        return values[self.row if terms.rows is None else terms.rows.array[self.row]]


def matrix_of(
    field: Field, point: Point, argnum: int, dims: tuple[int, ...] | None, name: str
) -> Array:
    """A field's value as a matrix, or as a vector if the matrix is diagonal."""
    value = resolve(field, point, argnum, name)
    size = point.coordinates(argnum, dims, name)
    if callable(value) or hasattr(value, "matrix"):  # given by products, or by sparse columns
        return apply_rows(value, jnp.eye(size, dtype=point.dtype(argnum))).T
    if value.ndim == 2:
        return value
    return jnp.broadcast_to(expect_shape(value, ((), (size,), (size, size)), name), (size,))


def row_divergence(
    function: Callable[..., Array], point: Point, argnum: int, dims: tuple[int, ...] | None
) -> Vector:
    """Σ_i ∂_i S_ij of a function S of the point whose values are matrices or diagonals."""
    flat, at = by_coordinates(function, point, argnum)
    places = np.arange(flat.size) if dims is None else np.asarray(dims)

    def row(place: Array, number: Array) -> Array:
        unit = jnp.zeros_like(flat).at[place].set(1)
        return directional(at, flat)(unit)[number]

    rows = jax.vmap(row)(jnp.asarray(places), jnp.arange(len(places)))
    return rows if rows.ndim == 1 else jnp.sum(rows, axis=0)


def by_coordinates(
    function: Callable[..., PyTree], point: Point, argnum: int
) -> tuple[Vector, Callable[[Vector], PyTree]]:
    """The coordinates of an argument, and the function restricted to them."""
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, point.args[argnum]))

    return flat, lambda flat: point.replaced(argnum, unravel(flat)).value_of(function)

"""Gradients, in reverse mode: d derivatives at the cost of one."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, PyTree

from ..devices import own_copy, varying_over
from ..jets.fields import SparseColumns, apply_rows, expect_shape, resolve
from ..jets.point import Point
from ..jets.vector_terms import GradientTerms
from ..versions import varying_axes
from .first_derivatives import grad, jacobian_of


def gradient(u: Callable[..., PyTree], point: Point, factor: GradientTerms) -> PyTree:
    """∇u in the structure of the argument; σᵀ∇u, a∇u, or ∇u restricted to some coordinates, as a
    vector. Its axes follow u's own, in u's type; each component is that of `Partial`.
    """
    factor.count(point)
    rows, shape = _jacobian(u, point, factor.argnum)
    values, outputs = jax.tree.flatten(shape)
    if not (factor.field is None and factor.dims is None):
        rows = [_ravelled(row, point, factor.argnum) for row in rows]
        if factor.dims is not None:
            rows = [_selected(row, factor.dims) for row in rows]
        if factor.field is not None:
            product = _transposed_product if factor.transposed else _product
            rows = [product(factor, point, row) for row in rows]
    typed = [
        jax.tree.map(partial(_of_type, dtype=y.dtype), row)
        for row, y in zip(rows, values, strict=True)
    ]
    return jax.tree.unflatten(outputs, typed)


def _jacobian(u: Callable[..., PyTree], point: Point, argnum: int) -> tuple[list[PyTree], PyTree]:
    """The derivative of each of u's outputs, in the structure of the argument, and the type of u's
    value. u is traced once.

    Derivatives are along real directions, as everywhere: the variables are the real parts of
    complex coordinates, and a complex u has two real ones. Other outputs have derivative zero.
    """
    argument = jax.tree.map(jnp.asarray, point.args[argnum])

    def moved(variables: PyTree) -> PyTree:
        x = jax.tree.map(_with_real_part, argument, variables)
        return point.replaced(argnum, x).value_of(u)

    variables = own_copy(moved, jax.tree.map(jnp.real, argument))
    program, shape = jax.make_jaxpr(moved, return_shape=True)(variables)

    def parts(variables: PyTree) -> list[Array]:
        found = jex.jaxpr_as_fun(program)(*jax.tree.leaves(variables))
        return [part for y in found for part in _real_parts(y)]

    values = jax.tree.leaves(shape)
    moving = [y for y in values if jnp.issubdtype(y.dtype, jnp.inexact)]
    if [(y.shape, jnp.iscomplexobj(y)) for y in moving] == [((), False)]:
        found = iter([grad(lambda x: parts(x)[0], variables)])  # without an axis for one value
    else:
        found = iter(jacobian_of(parts, variables) if moving else [])
    rows = []
    for y in values:
        if not jnp.issubdtype(y.dtype, jnp.inexact):
            rows.append(
                jax.tree.map(lambda x, s=y.shape: jnp.zeros(s + x.shape, x.dtype), variables)
            )
        elif jnp.iscomplexobj(y):
            rows.append(jax.tree.map(_complex, next(found), next(found)))
        else:
            rows.append(next(found))
    return rows, shape


def _real_parts(y: Any) -> list[Array]:
    """The real numbers that move in an output of u."""
    if not jnp.issubdtype(jnp.result_type(y), jnp.inexact):
        return []
    return [jnp.real(y), jnp.imag(y)] if jnp.iscomplexobj(y) else [jnp.asarray(y)]


def _with_real_part(x: Array, real: Array) -> Array:
    return lax.complex(real, jnp.imag(x)) if jnp.iscomplexobj(x) else real


def _complex(real: Array, imaginary: Array) -> Array:
    dtype = jnp.finfo(_complex_type(real.dtype)).dtype  # there is no complex half precision
    return lax.complex(real.astype(dtype), imaginary.astype(dtype))


def _complex_type(dtype: Any) -> Any:
    """The complex type with the precision of a type."""
    return jnp.complex64 if jnp.finfo(dtype).bits <= 32 else jnp.complex128


def _of_type(array: Array, dtype: Any) -> Array:
    """A derivative in the type of the differentiated value; a complex σ makes real
    values complex.
    """
    if jnp.iscomplexobj(array) and not jnp.issubdtype(dtype, jnp.complexfloating):
        dtype = _complex_type(dtype)
    return array.astype(dtype)


def _ravelled(row: PyTree, point: Point, argnum: int) -> Array:
    """The derivative of one output with its argument's coordinates as the last axis."""
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(point.args[argnum])]
    leaves = [
        leaf.reshape(*leaf.shape[: leaf.ndim - len(shape)], math.prod(shape))
        for leaf, shape in zip(jax.tree.leaves(row), shapes, strict=True)
    ]
    return jnp.concatenate(leaves, axis=-1)


def _selected(row: Array, dims: tuple[int, ...]) -> Array:
    """Some entries of the last axis.

    Neighbouring entries are sliced: a gather would copy a row that lies on several devices to each.
    """
    if dims == tuple(range(dims[0], dims[0] + len(dims))):
        return row[..., dims[0] : dims[0] + len(dims)]
    return row[..., np.asarray(dims)]


def _transposed_product(factor: GradientTerms, point: Point, row: Array) -> Array:
    """σᵀ g along the last axis."""
    sigma = resolve(factor.field, point, factor.argnum, "sigma of Gradient")
    size = row.shape[-1]
    if isinstance(sigma, SparseColumns):
        expect_shape(sigma, ((size, sigma.shape[1]),), "sigma of Gradient")
        row, values = _alike(row, jnp.asarray(sigma.values))
        return jnp.einsum("...cs,cs->...c", row[..., sigma.positions], values)
    if callable(sigma):
        matrix: Callable[..., Any] = sigma

        def transposed(g: Array) -> Array:
            product = jax.eval_shape(matrix, g)
            (image,) = jax.linear_transpose(matrix, g)(varying_over(g, varying_axes(product)))
            return image

        flat = jax.vmap(transposed)(row.reshape(-1, size))
        return flat.reshape(*row.shape[:-1], flat.shape[-1])
    if not (sigma.ndim == 2 and sigma.shape[0] == size):
        expect_shape(sigma, ((), (size,), (size, size)), "sigma of Gradient")
    row, sigma = _alike(row, sigma)
    return jnp.matmul(row, sigma) if sigma.ndim == 2 else row * jnp.broadcast_to(sigma, row.shape)


def _product(factor: GradientTerms, point: Point, row: Array) -> Array:
    """a g along the last axis."""
    a, size = resolve(factor.field, point, factor.argnum, "a of DivergenceForm"), row.shape[-1]
    if isinstance(a, SparseColumns):
        expect_shape(a, ((size, size),), "a of DivergenceForm")
        a = a.mv
    if callable(a):
        matrix: Callable[..., Any] = a
        flux = apply_rows(matrix, row.reshape(-1, size))
        return flux.reshape(*row.shape[:-1], flux.shape[-1])
    expect_shape(a, ((), (size,), (size, size)), "a of DivergenceForm")
    row, a = _alike(row, a)
    return jnp.matmul(row, a.T) if a.ndim == 2 else row * jnp.broadcast_to(a, row.shape)


def _alike(row: Array, field: Array) -> tuple[Array, Array]:
    """A field in the precision of the row, both complex if either is."""
    dtype = _complex_type(row.dtype) if jnp.iscomplexobj(field) else row.dtype
    return row.astype(dtype), field.astype(dtype)

"""Gradients, in reverse mode: d derivatives at the cost of one."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..jets.fields import SparseColumns, apply_rows, expect_shape, resolve
from ..jets.point import Point
from ..jets.vector_terms import GradientTerms


def gradient(u: Callable[..., PyTree], point: Point, factor: GradientTerms) -> PyTree:
    """∇u like the argument; σᵀ∇u, a∇u, or ∇u restricted to some coordinates, as a vector. Behind
    u's own axes.
    """
    factor.count(point)
    jacobian = _jacobian(u, point, factor.argnum)
    if factor.field is None and factor.dims is None:
        return jacobian
    _, outputs = _shape(u, point)
    rows = outputs.flatten_up_to(jacobian)
    flat = [_ravelled(row, point, factor.argnum) for row in rows]
    if factor.dims is not None:
        flat = [_selected(row, factor.dims) for row in flat]
    if factor.field is not None:
        product = _transposed_product if factor.transposed else _product
        flat = [product(factor, point, row) for row in flat]
    return jax.tree.unflatten(outputs, flat)


def _shape(u: Callable[..., PyTree], point: Point) -> tuple[PyTree, Any]:
    shape = jax.eval_shape(lambda: point.value_of(u))
    return shape, jax.tree.structure(shape)


def _jacobian(u: Callable[..., PyTree], point: Point, argnum: int) -> PyTree:
    """u's derivative with respect to one argument: real and imaginary parts of a complex u
    apart.
    """
    shape, structure = _shape(u, point)
    argument = jax.tree.map(jnp.asarray, point.args[argnum])
    holomorphic = any(jnp.iscomplexobj(leaf) for leaf in jax.tree.leaves(argument))

    def function(x: PyTree) -> PyTree:
        return u(*point.args[:argnum], x, *point.args[argnum + 1 :], **point.kwargs)

    if holomorphic:
        return jax.jacrev(function, holomorphic=True)(argument)
    if not any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in jax.tree.leaves(shape)):
        return jax.jacrev(function)(argument)

    def parts(x: PyTree) -> PyTree:
        return jax.tree.map(lambda y: (jnp.real(y), jnp.imag(y)), function(x))

    pairs = structure.flatten_up_to(jax.jacrev(parts)(argument))
    return jax.tree.unflatten(structure, [jax.tree.map(jax.lax.complex, *pair) for pair in pairs])


def _ravelled(row: PyTree, point: Point, argnum: int) -> Array:
    """The derivative of one output with its argument's coordinates as the last axis."""
    shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(point.args[argnum])]
    leaves = [
        leaf.reshape(*leaf.shape[: leaf.ndim - len(shape)], -1)
        for leaf, shape in zip(jax.tree.leaves(row), shapes, strict=True)
    ]
    return jnp.concatenate(leaves, axis=-1)


def _selected(row: Array, dims: tuple[int, ...]) -> Array:
    """Some entries of the last axis.

    Neighbours are cut out: a gather of a row that lies on several devices would copy it to each.
    """
    if dims == tuple(range(dims[0], dims[0] + len(dims))):
        return row[..., dims[0] : dims[0] + len(dims)]
    return row[..., np.asarray(dims)]


def _transposed_product(factor: GradientTerms, point: Point, row: Array) -> Array:
    """σᵀ g along the last axis."""
    sigma = resolve(factor.field, point)
    size = row.shape[-1]
    if callable(sigma):
        vector = jax.ShapeDtypeStruct((size,), row.dtype)
        transposed = jax.linear_transpose(sigma, vector)
        flat = jax.vmap(lambda g: transposed(g)[0])(row.reshape(-1, size))
        return flat.reshape(*row.shape[:-1], -1)
    if not (sigma.ndim == 2 and sigma.shape[0] == size):
        expect_shape(sigma, ((), (size,), (size, size)), "sigma of Gradient")
    sigma = sigma.astype(row.dtype)
    return jnp.matmul(row, sigma) if sigma.ndim == 2 else row * jnp.broadcast_to(sigma, row.shape)


def _product(factor: GradientTerms, point: Point, row: Array) -> Array:
    """a g along the last axis."""
    a, size = resolve(factor.field, point), row.shape[-1]
    if isinstance(a, SparseColumns):
        expect_shape(a, ((size, size),), "a of DivergenceForm")
        a = a.mv
    if callable(a):
        matrix: Callable[..., Any] = a
        flux = apply_rows(matrix, row.reshape(-1, size))
        return flux.reshape(*row.shape[:-1], flux.shape[-1])
    expect_shape(a, ((), (size,), (size, size)), "a of DivergenceForm")
    a = a.astype(row.dtype)
    return jnp.matmul(row, a.T) if a.ndim == 2 else row * jnp.broadcast_to(a, row.shape)

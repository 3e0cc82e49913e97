"""Quadratic forms and Gram matrices, whose derivatives use again what the products themselves made:
differentiated step by step each would take one product more.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array

from ...devices import on_lone_cpu
from ..coefficients import Full
from ..points import each_point
from ..precision import full_precision
from ..program import KEPT, own_policy
from ..symmetric import blocks_of, quadratic_form, share

PRODUCTS = "diffop products"
"""A name inside of functions whose jvp saves work, but is that of what they are made of: where
operators are nested, jets are pushed through them by the products' own rules.
"""


@jax.custom_jvp
def quadratic(matrix: Array, array: Array) -> Array:
    """Σ_ij M_ij a_i a_j, entrywise, for a symmetric M.

    Its derivative Σ_ij dM_ij a_i a_j + 2 Σ_i (M a)_i da_i uses M a again; differentiated as a
    product it would cost one more application of M in reverse mode.
    """
    array = checkpoint_name(array, PRODUCTS)
    return _dot_first(array, jnp.tensordot(matrix, array, axes=1), matrix.ndim - 2)


@quadratic.defjvp
@full_precision()
def _quadratic_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (matrix, array), (dmatrix, darray) = primals, tangents
    sums = matrix.ndim - 2
    applied = jnp.tensordot(matrix, array, axes=1)
    along = _dot_first(array, jnp.tensordot(dmatrix, array, axes=1), sums)
    return _dot_first(array, applied, sums), along + 2 * _dot_first(darray, applied, sums)


def form(matrix: Array, rows: Full) -> Array:
    """Σ_ij M_ij a_i a_j without the factors of the rows a_i."""
    size, width = rows.base.shape[0], rows.base.size // max(1, rows.base.shape[0])
    if not (is_halved(size, width) and on_lone_cpu(matrix, rows.base)):
        return quadratic(*alike(matrix, rows.base))
    matrix, *factors = alike(matrix, *(rows.scaled or (flat(rows.base),)))
    sums, every = matrix.shape[:-2], matrix.reshape(-1, *matrix.shape[-2:])
    forms = [each_point(_form_at_point, one, blocks_of(one), *factors) for one in every]
    return jnp.stack(forms).reshape(*sums, *rows.base.shape[1:])


@functools.partial(jax.checkpoint, policy=own_policy, prevent_cse=False)
def _form_at_point(matrix: Array, blocks: list[Array], *factors: Array) -> Array:
    array = factors[0] if len(factors) == 1 else factors[0][:, None] * factors[1]
    return by_halves(matrix, blocks, array)


@jax.custom_jvp
def by_halves(matrix: Array, blocks: list[Array], array: Array) -> Array:
    """As `quadratic`, of a matrix and its blocks: it changes as the blocks do."""
    return quadratic_form(blocks, checkpoint_name(array, PRODUCTS))


@by_halves.defjvp
@full_precision()
def _by_halves_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (matrix, _, array), (_, dblocks, darray) = primals, tangents
    applied = checkpoint_name(matrix @ array, KEPT)
    along = quadratic_form(dblocks, array) + 2 * jnp.sum(darray * applied, axis=0)
    return jnp.sum(array * applied, axis=0), along


def form_cost(size: int, width: int) -> float:
    """How many multiply-adds a quadratic form of an array `(size, width)` takes."""
    halved = is_halved(size, width) and on_lone_cpu()
    return size * size * width * (share(size) if halved else 1.0)


def is_halved(size: int, width: int) -> bool:
    """Whether a quadratic form of an array `(size, width)` is large enough for halves."""
    return share(size) < 1 and size * size * width >= _LARGE


_LARGE = 256**3
"""So many multiplications for one point fill a loop over points."""


def _dot_first(array: Array, applied: Array, sums: int) -> Array:
    """Σ_i a_i b_i for a `(m, *shape)` and b `(*sums, m, *shape)`."""
    return jnp.sum(jnp.expand_dims(array, tuple(range(sums))) * applied, axis=sums)


def alike(*arrays: Array) -> list[Array]:
    """Arrays in their common type: live values may be real and complex, single and half."""
    with jax.numpy_dtype_promotion("standard"):
        kind = functools.reduce(jnp.promote_types, (array.dtype for array in arrays))
    return [array.astype(kind) for array in arrays]


def flat(array: Array) -> Array:
    """A vector for each direction."""
    return array if array.ndim == 2 else array.reshape(array.shape[0], -1)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def gram(a: Array, axis: int = 0) -> Array:
    """AᵀA, or AAᵀ by summing over the axis 1. Its derivative S + Sᵀ with S = AᵀdA takes one product
    instead of two, forward and reverse.
    """
    a = checkpoint_name(a, PRODUCTS)
    return lax.dot_general(a, a, (((axis,), (axis,)), ((), ())))


@gram.defjvp
@full_precision()
def gram_jvp(axis: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (a,), (da,) = primals, tangents
    half = lax.dot_general(a, da, (((axis,), (axis,)), ((), ())))
    return gram(a, axis), half + half.T

"""Quadratic forms and Gram matrices whose derivatives reuse their products. Differentiated step by
step, each would take one product more.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array

from ...kernels import call
from ...precision import full_precision
from ..coefficients import Full

PRODUCTS = "diffop products"
"""A name for calls of functions whose jvp saves work but equals that of their parts. If operators
are nested, jets are pushed through these functions by the rules of their products.
"""


@jax.custom_jvp
def quadratic(matrix: Array, array: Array) -> Array:
    """Σ_ij M_ij a_i a_j, entrywise, for a symmetric M.

    Its derivative Σ_ij dM_ij a_i a_j + 2 Σ_i (M a)_i da_i uses M a again; as a product it would
    take one more application of M in reverse mode.
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
    """Σ_ij M_ij a_i a_j without the separate numbers of the rows a_i."""
    factors = rows.scaled or (rows.base,)
    made = call("quadratic form", _quadratic, *alike(matrix, *factors))
    return made.reshape(*matrix.shape[:-2], *rows.base.shape[1:])


def _quadratic(matrix: Array, *factors: Array) -> Array:
    """The form of an array, or of numbers times the rows of a matrix."""
    return quadratic(matrix, _rows_of(factors))


def _rows_of(factors: Sequence[Array]) -> Array:
    return factors[0] if len(factors) == 1 else factors[0][:, None] * factors[1]


def form_cost(size: int, width: int) -> float:
    """The multiply-adds of a quadratic form of an array `(size, width)`."""
    return size * size * width * call("part of a quadratic form", _all_of_it, size, width)


def _all_of_it(*_: int) -> float:
    return 1.0


def _dot_first(array: Array, applied: Array, sums: int) -> Array:
    """Σ_i a_i b_i for a `(m, *shape)` and b `(*sums, m, *shape)`."""
    return jnp.sum(jnp.expand_dims(array, tuple(range(sums))) * applied, axis=sums)


def alike(*arrays: Array) -> list[Array]:
    """Arrays in their common type: live values may be real and complex, of different precisions."""
    with jax.numpy_dtype_promotion("standard"):
        kind = functools.reduce(jnp.promote_types, (array.dtype for array in arrays))
    return [array.astype(kind) for array in arrays]


def flat(array: Array) -> Array:
    """An array with one flat vector for each direction."""
    return array if array.ndim == 2 else array.reshape(array.shape[0], -1)


@jax.custom_jvp
def gram(a: Array) -> Array:
    """AᵀA. Its derivative S + Sᵀ with S = AᵀdA takes one product instead of two, in forward and
    reverse mode.
    """
    a = checkpoint_name(a, PRODUCTS)
    return lax.dot_general(a, a, (((0,), (0,)), ((), ())))


@gram.defjvp
@full_precision()
def _gram_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (a,), (da,) = primals, tangents
    half = lax.dot_general(a, da, (((0,), (0,)), ((), ())))
    return gram(a), half + half.T

"""Rows that all points share, times numbers of the point, times a matrix that all points share.

Along directions v_r, behind a layer z = Vx and an elementwise φ, the next layer's coefficients are

    y_rh = Σ_k φ′(z)_k V_rk W_kh.

At one point that is rows, `φ′(z)_k V_rk`, times a matrix. At many points it is one product of the
φ′(z) with the matrix `M_k,rh = V_rk W_kh`, of as many multiplications: no array of points ×
directions × entries goes into it, and none comes out of its gradient, which would be added up over
directions for the point, and over points for V.
"""

import functools
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from .arrays import product_of
from .points import call_at_points, written_out
from .rows import rows_dot


def weighted_dot(
    numbers: Array, rows: Array, matrix: Any, *, axis: int = 0, **params: Any
) -> Array:
    """`Σ_k numbers_k rows_rk matrix_kh`, k being the matrix's `axis`."""
    params |= {"axis": axis}
    operands = numbers, rows, matrix
    kinds = tuple(jax.typeof(operand).update(weak_type=False) for operand in operands)
    jaxpr = _program(kinds, tuple(params.items()))
    (product,) = weighted_dot_p.bind(*operands, jaxpr=jaxpr, **params)
    return product


@functools.lru_cache(maxsize=256)
def _program(kinds: Any, params: Any) -> jex.ClosedJaxpr:
    """Of one point."""

    def dot(numbers: Array, rows: Array, matrix: Array) -> Array:
        return rows_dot(product_of(numbers[None], rows), matrix, **dict(params))

    return jax.make_jaxpr(dot)(*kinds)


_ENOUGH = 0.5
"""Points for each column of the matrix, from which on they go together. With one for each the
product of rows and matrix is as large as the rows of all points. Reverse mode is faster with fewer,
too, by up to a third; values take a fiftieth longer.
"""

_LARGE = 1e30
"""The largest number of half precision is 65,504."""


def _batch(
    operands: Any, axes: Any, *, jaxpr: jex.ClosedJaxpr, axis: int, **params: Any
) -> tuple[list[Any], list[int]]:
    """Where only the numbers are different at each point, points go together; not where products of
    rows and matrix, which no small number has met yet, may leave the range of their type.
    """
    numbers, rows, matrix = operands
    shared = axes[1] is None and axes[2] is None and float(jnp.finfo(numbers.dtype).max) > _LARGE
    width = matrix.shape[1 - axis]
    if not shared or numbers.shape[axes[0]] < _ENOUGH * width:
        mapped = jax.vmap(functools.partial(written_out, jaxpr=jaxpr), in_axes=axes)
        return mapped(*operands), [0]
    # as a product of two: its gradients are products too, for which nothing is broadcast
    together = lax.dot_general(rows, matrix, (((), ()), ((1,), (axis,))), **params)
    flat = together.reshape(len(together), -1)
    products = rows_dot(jnp.moveaxis(numbers, axes[0], 0), flat, **params)
    return [products.reshape(-1, len(rows), width)], [0]


weighted_dot_p = call_at_points("weighted_dot", _batch)

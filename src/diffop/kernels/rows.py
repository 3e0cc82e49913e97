"""Many vectors times one matrix: one two-dimensional product, however many axes the vectors have.

Under `jax.vmap` a coefficient `(directions, width)` times a weight matrix becomes `(points,
directions, width)` times it, and `dot_general` keeps the two axes apart. The gradient with respect
to the matrix then contracts over both, for which XLA on CPUs first transposes an array of all
vectors. Here points and directions are one axis, so both transposes are two-dimensional again.

Gain, on a CPU: a quarter of the gradient of an estimate of order four in 1,000 dimensions. Without
this file it takes that much longer.
"""

import math
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..devices import is_on_mesh
from .seam import Outputs, better, bound, call, mapped

NAME = "rows"
"""`(*rows, k) · (k, h) -> (*rows, h)`, or `(*rows, k) · (h, k)`; `axis` is the matrix's axis k."""


def flat_dot(rows: Array, matrix: Array, *, axis: int, **params: Any) -> Array:
    """All the rows along one axis, also where they are empty."""
    flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    product = lax.dot_general(flat, matrix, (((1,), (axis,)), ((), ())), **params)
    return product.reshape(*rows.shape[:-1], matrix.shape[1 - axis])


def _batch(operands: Any, axes: Any, *, jaxpr: Any, **static: Any) -> Outputs:
    """Rows of all points are rows, unless each point has its own matrix."""
    (rows, matrix), (row_axis, matrix_axis) = operands, axes
    if matrix_axis is not None:
        return mapped(operands, axes, jaxpr)
    return [call(NAME, flat_dot, jnp.moveaxis(rows, row_axis, 0), matrix, **static)]


def _jvp(primals: Any, tangents: Any, *, jaxpr: Any, **static: Any) -> tuple[Outputs, Outputs]:
    """The product rule: each operand's tangent in its place."""
    (rows, matrix), (moved, turned) = primals, tangents
    pairs = [] if moved is None else [(moved, matrix)]
    pairs += [] if turned is None else [(rows, turned)]
    value, *parts = (bound(NAME, jaxpr, pair, static)[0] for pair in ((rows, matrix), *pairs))
    return [value], [sum(parts[1:], parts[0])]


def _applies(rows: Any, matrix: Any, **_: Any) -> bool:
    """False if a program is mapped over devices (`jax.shard_map`), or on a mesh with explicit axes:
    only JAX's own products know how their gradients lie there.
    """
    return not (is_on_mesh(rows) or is_on_mesh(matrix))


better(NAME, applies=_applies, batch=_batch, jvp=_jvp)

"""Bounded memory: the directions of a family pushed a chunk at a time.

A collapsed family is a sum over its directions, so it is the sum over chunks of them, to rounding.
Each chunk is a pass of its own under `jax.checkpoint`, in a `lax.scan`: reverse mode recomputes a
chunk when it needs it, and memory does not grow with the number of directions.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from ..devices import start_of_sum
from .coefficients import ByDirection, ByEntry, Full
from .sparsity.by_entry import as_sparse


def in_chunks(
    sum_over: Callable[[PyTree, Any], PyTree], tangents: PyTree, weights: Any, size: int
) -> PyTree:
    """Σ over chunks of `sum_over(tangents, weights)`.

    `tangents` are arrays with n rows (see `by_direction`), `weights` are `(*m, n)`. The last chunk
    is filled up with directions of weight zero.
    """
    count = weights.shape[-1]
    chunks = -(-count // size)
    cut = jax.tree.map(lambda leaf: _cut(leaf, chunks, size), tangents)
    weights = _cut(jnp.moveaxis(jnp.asarray(weights), -1, 0), chunks, size)

    @jax.checkpoint
    def one(part: tuple[PyTree, Any]) -> PyTree:
        return sum_over(part[0], jnp.moveaxis(part[1], 0, -1))

    first = jax.tree.map(lambda leaf: leaf[0], (cut, weights))
    zeros = start_of_sum(lambda: one(first))

    def step(total: PyTree, part: tuple[PyTree, Any]) -> tuple[PyTree, None]:
        return jax.tree.map(jnp.add, total, one(part)), None

    return lax.scan(step, zeros, (cut, weights))[0]


def _cut(leaf: Any, chunks: int, size: int) -> Any:
    """Rows `(n, …)` as `(chunks, size, …)`, zeros at the end."""
    missing = chunks * size - leaf.shape[0]
    leaf = jnp.asarray(leaf)
    if missing:
        leaf = jnp.concatenate([leaf, jnp.zeros((missing, *leaf.shape[1:]), leaf.dtype)])
    return leaf.reshape(chunks, size, *leaf.shape[1:])


def by_direction(coefficient: Any, dtype: Any) -> Any:
    """A tangent whose arrays have one row for each direction."""
    if isinstance(coefficient, Full):
        return Full(coefficient.array)
    c = as_sparse(coefficient, dtype) if isinstance(coefficient, ByEntry) else coefficient
    if not isinstance(c, ByDirection):
        return c
    return ByDirection(jnp.asarray(c.positions), c.values, c.distinct)

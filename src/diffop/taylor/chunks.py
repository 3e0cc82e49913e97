"""Bounded memory: the directions of a family are pushed in chunks.

A collapsed family is a sum over its directions, so it is the sum over chunks of them, up to
rounding; without the collapse it is the chunks side by side. Each chunk is a separate pass under
`jax.checkpoint`, in a loop: reverse mode recomputes a chunk when it needs it, and memory does not
grow with the number of directions.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import PyTree

from ..coefficients.blocks import Blocks, at_directions
from ..devices import start_of_sum


def in_chunks(
    compute: Callable[[PyTree, Any], PyTree], tangents: PyTree, weights: Any, count: int, size: int
) -> PyTree:
    """Σ over chunks of `compute(tangents, weights)`; without weights its rows, which are one for
    each direction.

    `tangents` are arrays with n rows or blocks of n = `count` directions, `weights` are
    `(*m, n)`. The last chunk is padded with directions of weight zero.
    """
    chunks = -(-count // size)
    leaves, structure = jax.tree.flatten(tangents, is_leaf=_is_blocks)
    rows = [None if _is_blocks(leaf) else _cut(leaf, chunks, size) for leaf in leaves]
    weights = jax.tree.map(lambda w: _cut(jnp.moveaxis(w, -1, 0), chunks, size), weights)
    numbers = np.arange(chunks * size, dtype=np.int32).clip(0, count - 1).reshape(chunks, size)

    @jax.checkpoint
    def one(part: tuple[PyTree, Any, Any]) -> PyTree:
        rows, weights, numbers = part
        filled = [
            at_directions(leaf, numbers) if row is None else row
            for leaf, row in zip(leaves, rows, strict=True)
        ]
        weights = jax.tree.map(lambda w: jnp.moveaxis(w, 0, -1), weights)
        return compute(jax.tree.unflatten(structure, filled), weights)

    every = (rows, weights, jnp.asarray(numbers))
    if weights is None:
        return jax.tree.map(lambda y: y.reshape(-1, *y.shape[2:])[:count], lax.map(one, every))
    first = jax.tree.map(lambda leaf: leaf[0], every)
    zeros = start_of_sum(lambda: one(first))

    def step(total: PyTree, part: tuple[PyTree, Any, Any]) -> tuple[PyTree, None]:
        return jax.tree.map(jnp.add, total, one(part)), None

    return lax.scan(step, zeros, every)[0]


def _is_blocks(leaf: Any) -> bool:
    return isinstance(leaf, Blocks)


def _cut(leaf: Any, chunks: int, size: int) -> Any:
    """Rows `(n, …)` as `(chunks, size, …)`, padded with zeros."""
    missing = chunks * size - leaf.shape[0]
    leaf = jnp.asarray(leaf)
    if missing:
        leaf = jnp.concatenate([leaf, jnp.zeros((missing, *leaf.shape[1:]), leaf.dtype)])
    return leaf.reshape(chunks, size, *leaf.shape[1:])

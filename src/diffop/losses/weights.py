"""Weights of the squares of a system's residuals, in the residual's structure."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.tree_util import keystr, tree_leaves_with_path as leaves_with_path
from jaxtyping import Array, PyTree


def weighted_residual(residual: Callable, weights: PyTree) -> Callable:
    """The residual whose squares have these weights: each entry times the root of its weight.

    **Raises:** at the call, `ValueError` for weights of another structure, or with other names.
    """
    return residual if weights is None else lambda v, x: _times_roots(residual(v, x), weights)


def _times_roots(residual: PyTree, weights: PyTree) -> PyTree:
    alone = jax.tree.structure(residual) == jax.tree.structure(0)
    weights = jnp.asarray(weights) if alone and isinstance(weights, list | tuple) else weights
    asked, given = _entries(residual), _entries(weights)
    fits = jax.tree.structure(residual) == jax.tree.structure(weights)
    if not fits or any(given[name] not in ((), shape) for name, shape in asked.items()):
        raise ValueError(
            f"the weights have {_in_words(given)}, and the residual of the equation has "
            f"{_in_words(asked)}; give a number for each of these."
        )

    def times_root(leaf: Array, weight: Any) -> Array:
        kind = jnp.real(leaf).dtype
        # at 0 the square of the root has a derivative, which the root itself has not
        root = jnp.sqrt(jnp.asarray(weight, kind) + jnp.finfo(kind).tiny)
        return leaf * root.astype(leaf.dtype)

    return jax.tree.map(times_root, residual, weights)


def _entries(tree: PyTree) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a pytree by name."""
    return {keystr(path, simple=True): jnp.shape(leaf) for path, leaf in leaves_with_path(tree)}


def _in_words(entries: dict[str, tuple[int, ...]]) -> str:
    if list(entries) == [""]:
        return f"an array of shape {entries['']}" if entries[""] else "one number"
    words = [f"{name!r}{f' of shape {shape}' if shape else ''}" for name, shape in entries.items()]
    return ", ".join(words)

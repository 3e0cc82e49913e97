"""The arrays of pytrees, in which random keys are the numbers behind them."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree


def stored_numbers(tree: PyTree) -> list[Array]:
    """The arrays of a pytree, in order, with the numbers behind random keys."""
    return [_numbers(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def is_spread(leaf: np.ndarray | Array) -> bool:
    """Whether an array lies on several devices."""
    return isinstance(leaf, jax.Array) and len(leaf.sharding.device_set) > 1


def kinds_by_place(tree: PyTree) -> dict[str, str]:
    """Type and shape of each array of `numbers`, by its place in the pytree."""
    paths = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): _describe(_numbers(leaf)) for path, leaf in paths}


def filled_tree(like: PyTree, values: Sequence[np.ndarray | Array]) -> PyTree:
    """`like` with its arrays replaced by those of `numbers` for an equal tree."""
    arrays, rest = eqx.partition(like, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)
    new = [_as(leaf, value) for leaf, value in zip(leaves, values, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, new), rest)


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _numbers(leaf: Array) -> Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _as(leaf: Array, value: np.ndarray | Array) -> Array:
    if _is_key(leaf):
        return jax.random.wrap_key_data(jnp.asarray(value), impl=jax.random.key_impl(leaf))
    return jnp.asarray(value) if leaf.size else leaf  # an empty array was written as a zero


def _describe(leaf: Array) -> str:
    return f"{leaf.dtype.name}[{','.join(map(str, leaf.shape))}]"

"""The arrays of pytrees, in which random keys are the numbers behind them."""

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..streams import is_key_array

Leaf: TypeAlias = np.generic | np.ndarray | Array
"""An array of a model, as Equinox counts them."""


def stored_numbers(tree: PyTree) -> list[Leaf]:
    """The arrays of a pytree, in order, with the numbers behind random keys."""
    return [_numbers(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def is_spread(leaf: Leaf) -> TypeGuard[Array]:
    """Whether an array lies on several devices."""
    return isinstance(leaf, jax.Array) and len(leaf.sharding.device_set) > 1


def kinds_by_place(tree: PyTree) -> dict[str, str]:
    """Type and shape of each array of `numbers`, by its place in the pytree."""
    paths = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): _describe(_numbers(leaf)) for path, leaf in paths}


def filled_tree(like: PyTree, values: Sequence[np.ndarray | Array]) -> PyTree:
    """`like` with its arrays replaced by those of `numbers` for an equal tree; those of NumPy stay
    NumPy's.
    """
    arrays, rest = eqx.partition(like, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)
    new = [_as(leaf, value) for leaf, value in zip(leaves, values, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, new), rest)


def _numbers(leaf: Leaf) -> Leaf:
    return jax.random.key_data(leaf) if is_key_array(leaf) else leaf


def _as(leaf: Leaf, value: np.ndarray | Array) -> Leaf:
    if not leaf.size:  # it was written as a zero
        return leaf
    if not isinstance(leaf, jax.Array):  # JAX may have no such type
        return value[()] if isinstance(leaf, np.generic) else value
    if is_key_array(leaf):
        return jax.random.wrap_key_data(jnp.asarray(value), impl=jax.random.key_impl(leaf))
    return jnp.asarray(value)


def _describe(leaf: Leaf) -> str:
    return f"{leaf.dtype.name}[{','.join(map(str, leaf.shape))}]"

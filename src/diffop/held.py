"""Objects as parts of a program's structure, which has to be hashed."""

import functools
import hashlib
from typing import Any, final

import equinox as eqx
import jax
import numpy as np


@final
class Held:
    """A pytree that is equal to another one as `jax.jit` sees it: with the same structure and the
    same leaves. Numbers are compared with their types, arrays and functions by identity, and arrays
    of NumPy by their contents too, which can change in place.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        leaves, structure = jax.tree.flatten(value)
        key = (structure, *map(_known, leaves))
        self._key = key if _is_hashable(key) else id(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Held({eqx.tree_pformat(self.value)})"


@jax.tree_util.register_static
class KnownArray:
    """A NumPy array as part of a pytree's structure, not as a leaf, compared by its bits. It is not
    learnt, scaled or differentiated, and stays known while tracing.
    """

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    @functools.cached_property
    def _digest(self) -> int:
        return hash(self._bits())

    def _bits(self) -> tuple[Any, ...]:
        return self.array.dtype, self.array.shape, self.array.tobytes()

    def __hash__(self) -> int:
        return self._digest

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, KnownArray) and self._bits() == other._bits())

    def __repr__(self) -> str:
        return f"KnownArray({self.array.dtype}{list(self.array.shape)})"


def array_of(array: Any) -> Any:
    """The array of a `KnownArray`; anything else as it is."""
    return array.array if isinstance(array, KnownArray) else array


def with_leaves(tree: Any) -> Any:
    """A pytree with the arrays that are part of its structure as leaves."""
    return jax.tree.map(array_of, tree, is_leaf=lambda node: isinstance(node, KnownArray))


def _known(leaf: Any) -> Any:
    if isinstance(leaf, float | complex):
        return type(leaf), repr(leaf)  # 0.0 and -0.0 are equal, and make different programs
    if isinstance(leaf, np.ndarray):
        return id(leaf), leaf.shape, leaf.dtype, hashlib.sha256(leaf.tobytes()).digest()
    return type(leaf), leaf if _is_hashable(leaf) else id(leaf)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True

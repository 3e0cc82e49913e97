"""Equality of arrays, and of objects that contain arrays.

Known arrays are compared by value: their bits decide, not the object that holds them. A traced
array has no value yet, so a tracer is known to be equal only to itself. The same holds for an array
of which this process has only a part.
"""

from collections.abc import Hashable
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ..devices import computed_at_once
from ..held import KnownArray
from ..streams import is_key_array


def held_if_known(array: Any) -> Any:
    """An array as part of the structure if it is known, and as a leaf if it is traced."""
    known = isinstance(array, jax.Array | np.ndarray) and not isinstance(array, Tracer)
    return KnownArray(array) if known and _is_here(array) else array


def by_value(tree: Any) -> Hashable:
    """A key that is equal for trees of equal structure and equal arrays."""
    leaves, structure = jax.tree.flatten(tree)
    return (structure, tuple(map(_value, leaves)))


def by_object(tree: Any) -> Hashable:
    """A key that is equal for trees made of the same objects, without looking into arrays. The
    objects outlive the tree when it is rebuilt, as in passing through `jit`.
    """
    leaves, structure = jax.tree.flatten(tree)
    key = (structure, tuple(map(_object, leaves)))
    try:
        hash(key)
    except TypeError:  # a static field that cannot be hashed
        return ("object", id(tree))
    return key


def _value(leaf: Any) -> Hashable:
    if isinstance(leaf, Tracer) or not _is_here(leaf):
        return _object(leaf)
    if is_key_array(leaf):
        # a constant, even while something else is traced
        data = computed_at_once(lambda: np.asarray(jax.random.key_data(leaf)))
        return (str(leaf.dtype), data.shape, data.tobytes())
    if isinstance(leaf, jax.Array | np.ndarray | np.generic):
        array = np.asarray(leaf)
        return (str(array.dtype), array.shape, array.tobytes())
    return _object(leaf)


def _object(leaf: Any) -> Hashable:
    number = isinstance(leaf, int | float | complex)
    return (type(leaf), leaf) if number else ("object", id(leaf))


def _is_here(leaf: Any) -> bool:
    return not isinstance(leaf, jax.Array) or leaf.is_fully_addressable

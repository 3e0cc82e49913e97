"""Entries of u's value: one value of a vector-valued u, or several."""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..notation import subscript

Entry: TypeAlias = int | str | tuple[int | str, ...]
"""The number of an entry along the first axis, the key of one in a pytree, or several of these."""
Entries: TypeAlias = tuple[Entry, ...]
"""Entries that are taken one after another; none for all of u."""


def entry_text(entry: Entry) -> str:
    """The symbol of an entry."""
    if isinstance(entry, tuple):
        return f"I[{', '.join(map(str, entry))}]"
    return f"I{subscript(entry)}" if isinstance(entry, int) else f"I[{entry!r}]"


def entries_taken(entries: Entries, values: PyTree, like: PyTree) -> PyTree:
    """The entries of values of u, which may have axes in front of those of `like`, u's own value.

    **Raises:** `ValueError` for an entry that u does not have.
    """
    for entry in entries:
        _check(entry, like)
        values, like = _entry(entry, values, like), _entry(entry, like, like)
    return values


def entries_of(u: Callable[..., PyTree], entries: Entries) -> Callable[..., PyTree]:
    """The function that returns these entries of u's value."""
    if not entries:
        return u

    def function(*args: Any, **kwargs: Any) -> PyTree:
        value = u(*args, **kwargs)
        return entries_taken(entries, value, value)

    return function


def _entry(entry: Entry, values: PyTree, like: PyTree) -> PyTree:
    if isinstance(like, dict):
        # a tuple, whose leaves are in the order asked for: those of a dict are sorted
        return tuple(values[k] for k in entry) if isinstance(entry, tuple) else values[entry]
    if isinstance(like, tuple | list):
        several = isinstance(entry, tuple)
        return tuple(values[int(k)] for k in entry) if several else values[entry]
    before = (slice(None),) * (jnp.ndim(values) - jnp.ndim(like))
    index = np.asarray(entry) if isinstance(entry, tuple) else entry
    return jnp.asarray(values)[(*before, index)]


def _check(entry: Entry, like: PyTree) -> None:
    """Checks that u's value has the entry, since JAX would take the nearest one."""
    if isinstance(like, dict):
        known, what = list(like), f"a dict with {', '.join(map(repr, like))}"
    elif isinstance(like, tuple | list):
        known, what = list(range(len(like))), f"a tuple of {len(like)}"
    else:
        known = list(range(jnp.shape(like)[0])) if jnp.ndim(like) else []
        what = f"an array of shape {jnp.shape(like)}"
    for each in entry if isinstance(entry, tuple) else (entry,):
        if each not in known:
            raise ValueError(
                f"Component({each!r}) takes an entry that u does not have: u returns {what}, and "
                "components are numbered from 0 along the first axis, or named as in a dict."
            )

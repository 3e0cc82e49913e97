"""Normally distributed numbers."""

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ...kernels import call
from ...streams import checked_key


def normal(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "*shape"]:
    """Independent numbers of mean 0 and variance 1, of JAX's default float type."""
    return jax.random.normal(drawn_with(key), shape)


def drawn_with(key: PRNGKeyArray) -> PRNGKeyArray:
    """The key itself, or one that draws the same numbers.

    **Raises:** `TypeError` for anything but a key.
    """
    return call("bits", _itself, checked_key(key, "a random point"))


def _itself(key: PRNGKeyArray) -> PRNGKeyArray:
    return key

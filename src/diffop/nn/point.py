"""Checks of networks: their sizes, that they are callable, and that they see one point."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact

from ..scalars import checked_integer
from ..terms.arguments import is_function


def checked_sizes(name: str, **sizes: Any) -> tuple[int, ...]:
    """Sizes of a network, each a number of at least 1.

    **Raises:** `TypeError` for what is no integer, `ValueError` for a number below 1.
    """
    return tuple(checked_integer(value, f"{each} of {name}", 1) for each, value in sizes.items())


def check_point(name: str, x: Any, dim: int | None = None) -> Inexact[Array, " dim"]:
    """One point as a floating array.

    **Raises:** `ValueError` for batches, and for points of another dimension.
    """
    x = jnp.asarray(x)
    if x.ndim != 1 or x.size != (dim or x.size):
        shape = "(d,)" if dim is None else f"({dim},)"
        raise ValueError(
            f"{name} expects one point of shape {shape}, got shape {x.shape}; use jax.vmap for "
            "many points."
        )
    return x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(float)


def as_net(name: str, net: Any) -> Callable:
    """Checks a network that is to be wrapped.

    **Raises:** `TypeError` for anything that cannot be called with a point.
    """
    if is_function(net):
        return net
    got = f"an array of shape {net.shape}" if isinstance(net, jax.Array) else f"{net!r}"
    raise TypeError(
        f"{name} expects a network, a function of one point, got {got}; give it the network "
        f"itself, {name}(net, …), and call the result at a point."
    )

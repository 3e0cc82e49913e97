"""Products of a matrix with its own transpose by halves.

Of two blocks beside the diagonal one is the other's transpose: with blocks of blocks the product
takes little more than half of the multiplications. XLA computes all of it.

What it is worth: up to a half of what a step of a Gauss-Newton method takes besides its
derivatives, on every device. Without this file such steps take that much longer.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .seam import better

NAME = "symmetric product"
LEAST = 512
"""Halves of fewer rows are no faster than the whole."""


def _by_halves(_: Callable[..., Any], wide: Float[Array, "n m"]) -> Float[Array, "n n"]:
    """A Aᵀ."""
    half = len(wide) // 2
    if half < LEAST:
        return wide @ wide.T
    upper, lower = wide[:half], wide[half:]
    beside = lower @ upper.T
    ends = _by_halves(_, upper), _by_halves(_, lower)
    return jnp.block([[ends[0], beside.T], [beside, ends[1]]])


better(NAME, instead=_by_halves)

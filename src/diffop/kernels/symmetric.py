"""Products of a matrix with its own transpose by halves.

The two off-diagonal blocks are transposes of each other, so with blocks of blocks the product takes
little more than half of the multiplications. XLA computes all of it.

Gain, on a CPU: without it, the product for 3,000 residuals of 4,000 parameters, with which steps of
Gauss-Newton methods begin, takes 1.4 times as long, and 1.2 times with 700 parameters.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .seam import better

NAME = "symmetric product"
LEAST = 256
"""Halves with fewer rows are not faster than the whole."""


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

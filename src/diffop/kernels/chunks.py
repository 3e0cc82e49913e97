"""Bounded memory: how many directions of a family are pushed together.

A collapsed family is a sum over its directions, so it is the sum over chunks of them. If all
directions at once would need more than a fair share of the device's memory, a chunk has as many as
fit.

Gain, on every device: exact operators of functions of very many variables that are not networks
need memory for one chunk. Without this file they need it for all directions, and fail.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from . import device
from .memory import peak_bytes
from .seam import better

NAME = "chunks"
POINTS = 1024
"""A point may use one in this many parts of the device's memory: about as many are pushed at once.
"""
INPUTS = 16
"""No more than this many times the memory of the point itself is acceptable: u needs as much."""
LEAST = 64
ENTRIES = 4096
"""Too few directions for this many bytes each are pushed together without an estimate."""


def _fitting(
    _: Callable[..., None], whole: Callable[..., Any], point: Sequence[Any], *, directions: int
) -> int | None:
    """How many directions to push together; None for all. `whole` pushes all of them."""
    if directions <= LEAST or directions * ENTRIES <= (share := device.memory() // POINTS):
        return None
    return chunk_size(
        directions,
        peak_bytes(jax.make_jaxpr(whole)(*point)),
        max(share, INPUTS * sum(array.nbytes for array in point)),
    )


def chunk_size(directions: int, needed: int, budget: int) -> int | None:
    """How many directions to push together if all need `needed` bytes; a power of two."""
    if needed <= budget:
        return None
    fitting = max(LEAST, directions * budget // needed)
    size = 1 << (int(fitting).bit_length() - 1)
    return size if size < directions else None


better(NAME, instead=_fitting)

"""Bounded memory: how many directions of a family are pushed together.

A collapsed family is a sum over its directions, so it is the sum over chunks of them. Where all at
once would need more than a fair share of the device's memory, there are as many in a chunk as fit.

What it is worth, on every device: exact operators of functions of very many variables that are no
networks need memory for a chunk. Without this file they need it for all directions, and fail.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from . import device
from .programs import peak_bytes
from .seam import better

NAME = "chunks"
POINTS = 1024
"""A point may use this part of the device's memory: as many are usually pushed side by side."""
INPUTS = 16
"""What needs no more than this many times the point itself is no concern: u needs as much."""
LEAST = 64
ENTRIES = 4096
"""With fewer directions than have room for so many bytes each, a look is not worth it."""


def _fitting(
    _: Callable[..., None], whole: Callable[..., Any], point: Sequence[Any], *, directions: int
) -> int | None:
    """How many directions to push together; None for all. `whole` pushes all of them."""
    share = device.memory() // POINTS
    if directions * ENTRIES <= share:
        return None
    return chunk_size(
        directions,
        peak_bytes(jax.make_jaxpr(whole)(*point)),
        max(share, INPUTS * sum(array.nbytes for array in point)),
    )


def chunk_size(directions: int, needed: int, budget: int) -> int | None:
    """How many to push together, where all of them need so many bytes; a power of two."""
    if needed <= budget:
        return None
    fitting = max(LEAST, directions * budget // needed)
    size = 1 << (int(fitting).bit_length() - 1)
    return size if size < directions else None


better(NAME, instead=_fitting)

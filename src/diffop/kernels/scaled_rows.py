"""Rows of a large matrix that all points share, times numbers of the point: point by point.

What belongs to one point stays in the caches of a CPU then: no array of all points is broadcast to
be multiplied. The gradient by the matrix is added up by the loop.

What it is worth, on a CPU, is said in `halves.py`, which needs it.
"""

import functools
from typing import Any

from . import device
from .points import in_a_loop
from .seam import Outputs, better, mapped, written_out

NAME = "scaled rows"
"""`numbers_k matrix_kh`."""
LARGE = 256**2
"""So many entries for one point fill a loop over points."""


def _applies(numbers: Any, matrix: Any) -> bool:
    return matrix.size >= LARGE and device.on_lone_cpu(numbers, matrix)


def _batch(operands: Any, axes: Any, *, jaxpr: Any) -> Outputs:
    if axes[1] is not None:
        return mapped(operands, axes, jaxpr)
    return in_a_loop(functools.partial(written_out, jaxpr=jaxpr), operands, axes)


better(NAME, applies=_applies, batch=_batch)

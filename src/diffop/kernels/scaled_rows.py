"""Rows of a large matrix that all points share, times numbers of the point: point by point.

The arrays of one point then stay in the caches of a CPU, and no array of all points is broadcast
and multiplied. The loop adds up the gradient with respect to the matrix.

`halves.py` needs this file, and states the gain.
"""

import functools
from typing import Any

from . import device
from .points import in_a_loop
from .seam import Outputs, better, mapped, written_out

NAME = "scaled rows"
"""`numbers_k matrix_kh`."""
LARGE = 256**2
"""This many entries for one point are worth a loop over points."""


def _applies(numbers: Any, matrix: Any) -> bool:
    return matrix.size >= LARGE and device.on_lone_cpu(numbers, matrix)


def _batch(operands: Any, axes: Any, *, jaxpr: Any) -> Outputs:
    if axes[1] is not None:
        return mapped(operands, axes, jaxpr)
    return in_a_loop(functools.partial(written_out, jaxpr=jaxpr), operands, axes)


better(NAME, applies=_applies, batch=_batch)

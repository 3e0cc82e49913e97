"""Sums of traced arrays, and their sums and products with known numbers: what `jax.numpy` makes of
`+` and `*`, without the two thirds of its tracing time that go into promotion and broadcasting.
"""

from typing import Any

import jax
import numpy as np
from jax import lax
from jax.core import Tracer


def times(array: Any, number: float | int) -> Any:
    """An array times a Python number, in the array's type."""
    if number == 1:
        return array
    if not isinstance(array, Tracer) or array.weak_type:
        return array * number
    return lax.mul(array, np.asarray(number, array.dtype))


def shifted(array: Any, number: float) -> Any:
    """An array plus a Python number, in the array's type."""
    if number == 0:
        return array
    if not isinstance(array, Tracer) or array.weak_type:
        return array + number
    return lax.add(array, np.asarray(number, array.dtype))


def plus(left: Any, right: Any) -> Any:
    """The sum of two arrays."""
    if isinstance(left, Tracer) and isinstance(right, Tracer) and _alike(left, right):
        return lax.add(left, right)
    return left + right


def _alike(left: Tracer, right: Tracer) -> bool:
    a, b = jax.typeof(left), jax.typeof(right)
    return (a.shape, a.dtype) == (b.shape, b.dtype)

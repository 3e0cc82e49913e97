"""Arithmetic of arrays like that of `jax.numpy`, in a third of its tracing time.

The engine makes tens of thousands of equations. `jax.numpy` inspects each operand, promotes and
broadcasts, and traces most functions as separate programs. Here types and ranks are known to agree;
if they do not, `jax.numpy` is used.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.export import is_symbolic_dim

from .devices import is_explicit


def as_array(value: Any) -> jax.Array:
    """`jnp.asarray`, without its cost for a value that is an array already."""
    return value if isinstance(value, jax.Array) else jnp.asarray(value)


def known_or_traced(value: Any) -> Any:
    """A value as an array: lists and numbers as one that is known while tracing."""
    return value if isinstance(value, jax.Array) else np.asarray(value)


def wide(indices: Any) -> Any:
    """Indices of a type that has all sizes. Those of a wider one are clipped in that."""
    return indices if indices.dtype.itemsize >= 4 else indices.astype(np.int32)


def filled(operands: Sequence[Any], places: Iterable[int], values: Iterable[Any]) -> list[Any]:
    """Operands, with other values at some places."""
    replaced = dict(zip(places, values, strict=True))
    return [replaced.get(n, x) for n, x in enumerate(operands)]


def type_of(value: Any) -> np.dtype:
    """The type of an array, or of a value that can become one."""
    return jax.typeof(value).dtype


def has_symbols(kind: Any) -> bool:
    """Whether sizes in a type's shape are symbols (`jax.export`), which compare with no number."""
    return any(map(is_symbolic_dim, getattr(kind, "shape", ())))


def times(array: Any, number: float | int) -> Any:
    """An array times a Python number, in the array's type. The number itself may be out of that
    type's range.
    """
    if number == 1:
        return array
    limits, size = jnp.finfo(array.dtype), abs(number)
    if 0 < size < float(limits.tiny) or float(limits.max) < size < np.inf:
        root = size**0.5
        return times(times(array, root), number / root)
    if not isinstance(array, Tracer) or array.weak_type:
        return array * number
    return lax.neg(array) if number == -1 else lax.mul(array, array.dtype.type(number))


def shifted(array: Any, number: float | int) -> Any:
    """An array plus a Python number, in the array's type."""
    if number == 0:
        return array
    if not isinstance(array, Tracer) or array.weak_type:
        return array + number
    return lax.add(array, array.dtype.type(number))


def plus(left: Any, right: Any) -> Any:
    """The sum of two arrays."""
    return lax.add(left, right) if _alike(left, right) else left + right


def product_of(left: Any, right: Any) -> Any:
    """The entrywise product of two arrays."""
    return lax.mul(left, right) if _alike(left, right) else left * right


def _alike(left: Any, right: Any) -> bool:
    """Whether two traced arrays agree in type and in rank. Axes of size one are broadcast, and so
    are scalars.
    """
    if not (isinstance(left, Tracer) and isinstance(right, Tracer)):
        return False
    a, b = jax.typeof(left), jax.typeof(right)
    return a.dtype == b.dtype and (a.ndim == b.ndim or 0 in (a.ndim, b.ndim))


def sum_over(array: Any, axes: Sequence[int]) -> Any:
    """The sum over axes; numbers of 16 bits or less are added in higher precision, as `jnp.sum`."""
    if isinstance(array, Tracer) and array.dtype.itemsize >= 4:
        return lax.reduce_sum(array, tuple(axes))
    return jnp.sum(array, axis=tuple(axes))


def weighted_sum(weights: jax.Array, array: jax.Array) -> jax.Array:
    """Σ_r w_r a_r over the leading axis, in full precision like `sum_over`. It is a product, for
    which XLA's CPU backend makes no array of weights for all entries.
    """
    kind = array.dtype
    more = kind if kind.itemsize >= 4 else jnp.float32
    total = jnp.tensordot(
        weights.astype(kind), array, axes=1, precision="highest", preferred_element_type=more
    )
    return total.astype(kind)


def nearest_powers_of_two(sizes: jax.Array) -> jax.Array:
    """The powers of two near positive numbers, as constants; one where there is none."""
    nearest = lax.reduce_precision(lax.stop_gradient(sizes), jnp.finfo(sizes.dtype).nexp, 0)
    usable = (nearest > 0) & jnp.isfinite(nearest)
    return jnp.where(usable, nearest, jnp.ones_like(nearest))


def is_finite(array: Any) -> jax.Array:
    """Where an array is neither infinite nor NaN."""
    real = jnp.issubdtype(array.dtype, jnp.floating)
    return lax.is_finite(array) if real else jnp.isfinite(array)


def zeros_like(array: Any) -> jax.Array:
    """Zeros of an array's shape and type, divided along explicit axes like the array."""
    kind = jax.typeof(array)
    if is_explicit(kind):
        return lax.full_like(array, 0)
    return lax.broadcast_in_dim(kind.dtype.type(0), kind.shape, ())


_FOLDED = 64
"""The number of entries of constants with which XLA may compute while it compiles."""


def at_run_time(array: Any) -> Any:
    """A large array that may be known. It keeps XLA from computing with it while it compiles: XLA
    is slow at that (a cumulative sum of the identity of a thousand directions takes a minute), and
    the result would become part of the program.
    """
    array = jnp.asarray(array)
    return array if array.size <= _FOLDED else lax.optimization_barrier(array)

"""Numbers in every form in which users hold them."""

from collections.abc import Iterable
from operator import index
from typing import Any, SupportsIndex

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


def plain(value: Any) -> Any:
    """A number as a Python number. NumPy scalars are numbers, too, and so are 0-d arrays of NumPy
    or JAX whose value is known, also in tuples, lists and dicts. Anything else is unchanged.

    Static values and settings have to be hashed, compared and written down.
    """
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if type(value) in (tuple, list):
        return type(value)(map(plain, value))
    if type(value) is dict:
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, Tracer) or not isinstance(value, np.generic | np.ndarray | jax.Array):
        return value
    return value.item() if not value.ndim and jnp.issubdtype(value.dtype, np.number) else value


def several(values: Iterable[Any]) -> tuple[Any, ...]:
    """The numbers of a sequence, or of an array with one axis, as a tuple of Python numbers.

    **Raises:** `TypeError` for a single number.
    """
    if not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise TypeError(f"expected several numbers, such as (0.0, 1.0), got {values!r}.")
    return tuple(map(plain, values))


def is_integer(value: Any) -> bool:
    """Whether a plain value is an integer and not a truth value; traced values know it."""
    array = isinstance(value, np.ndarray | np.generic | jax.Array)
    other = isinstance(value, bool) or (array and not isinstance(value, Tracer))
    return not other and isinstance(value, SupportsIndex)


def is_number(value: Any) -> bool:
    """Whether a plain value is a real number and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def checked_integer(value: Any, name: str, least: int) -> int:
    """A value as an integer; `name` is for the error.

    **Raises:** `TypeError` for anything else, `ValueError` for one below `least`.
    """
    number = value if type(value) is int else plain(value)
    if type(number) is not int and not is_integer(number):
        raise TypeError(f"{name} must be an integer; got {value!r} of type {type(value).__name__}.")
    if index(number) < least:
        raise ValueError(f"{name} must be at least {least}; got {number}.")
    return index(number)


def largest_divisor(count: int, limit: int) -> int:
    """The largest divisor of `count` that is at most `limit` (and at least 1)."""
    return next(size for size in range(max(1, min(count, limit)), 0, -1) if count % size == 0)


def described(value: Any) -> str:
    """A value, described for an error."""
    if isinstance(value, jax.Array):
        return f"an array of type {value.dtype} and shape {value.shape}"
    return f"{value!r} of type {type(value).__name__}"

"""Values that may be a number, an array, or a function of the point."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Inexact

from ..called import called_with_point


def value_at(
    value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> Inexact[Array, "..."]:
    """At a point, as a floating array.

    **Raises:** `ValueError` for a function that takes other arguments than u.
    """
    given = called_with_point(name, value, args, kwargs) if callable(value) else value
    found = jnp.asarray(given)
    return found if jnp.issubdtype(found.dtype, jnp.inexact) else found.astype(float)


def number_at(
    value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str
) -> Inexact[Array, ""]:
    """At a point, as a floating number.

    **Raises:** `ValueError` for an array of another shape.
    """
    found = value_at(value, args, kwargs, name)
    if found.shape != ():
        raise ValueError(f"{name} is a number at each point; got one of shape {found.shape}.")
    return found


def check_weight(logarithm: float, dtype: Any, what: str) -> None:
    """Refuses weights of which the logarithm is out of the range of a type.

    **Raises:** `ValueError` saying `what` has them.
    """
    limits = jnp.finfo(dtype)
    if not math.log(float(limits.tiny)) < logarithm < math.log(float(limits.max)):
        raise ValueError(
            f"{what} has weights near e^{logarithm:.0f}, out of the range of {dtype}; integrate "
            "over fewer coordinates, with dims=, or over a region of your own."
        )

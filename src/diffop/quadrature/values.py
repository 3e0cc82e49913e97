"""Values that may be a number, an array, or a function of the point."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Inexact


def value_at(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inexact[Array, "..."]:
    """At a point, as a floating array."""
    found = jnp.asarray(value(*args, **kwargs) if callable(value) else value)
    return found if jnp.issubdtype(found.dtype, jnp.inexact) else found.astype(float)

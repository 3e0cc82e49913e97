"""log(eᵃ + eᵇ), and so softplus(x) = log(eˣ + 1): its slope by a is the logistic function of a − b.

JAX's own rule has the slope e^{a − log(eᵃ + eᵇ)}. Far from zero that is 1, and its derivatives are
differences of equal numbers: of what they should cancel, gradients by large weights keep the
rounding.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..bundle import Families, Value
from .decomposed import pushed_as

_JAX = str(Path(jax.__file__).parent)


def is_logaddexp(jaxpr: jex.Jaxpr) -> bool:
    """Whether a program is that of `jnp.logaddexp` behind JAX's rule for its derivative."""
    source = jaxpr.debug_info.func_src_info or ""
    kinds: list[Any] = [var.aval for var in jaxpr.invars]
    real = all(jnp.issubdtype(kind.dtype, jnp.floating) for kind in kinds)
    return source.startswith(f"logaddexp at {_JAX}") and real


def logaddexp(families: Families, operands: Sequence[Value]) -> list[Value]:
    """The output of `jnp.logaddexp`."""
    return pushed_as(lambda *values: [_logaddexp(*values)], families, operands)


@jax.custom_jvp
def _logaddexp(a: Array, b: Array) -> Array:
    return jnp.logaddexp(a, b)


@_logaddexp.defjvp
def _logaddexp_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    return _logaddexp(a, b), da * lax.logistic(a - b) + db * lax.logistic(b - a)

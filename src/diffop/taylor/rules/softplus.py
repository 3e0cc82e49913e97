"""The rule of log(eᵃ + eᵇ), and so of softplus(x) = log(eˣ + 1). The slope with respect to a is the
logistic function of a − b.

JAX's own rule has the slope e^{a − log(eᵃ + eᵇ)}. Far from zero this is 1, and its derivatives are
differences of equal numbers, so gradients with respect to large weights consist of rounding errors.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array


@jax.custom_jvp
def logaddexp(a: Array, b: Array) -> Array:
    return jnp.logaddexp(a, b)


@logaddexp.defjvp
def _logaddexp_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    return logaddexp(a, b), da * lax.logistic(a - b) + db * lax.logistic(b - a)

"""Roots and norms that keep the range of their type, and have gradients at zero."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def norm_over_first(array: Any) -> jax.Array:
    """The Euclidean norm along the first axis, with gradient zero where all entries are zero. In
    single precision squares of 1e-22 and of 1e22 are out of range, so it is computed in units.
    """
    unit = unit_near(array)
    return unit * root_of(jnp.sum((jnp.abs(array) / unit[None]) ** 2, axis=0))


def unit_near(array: Any) -> jax.Array:
    """A power of two near the largest entry along the first axis; 1 if all are zero. It is made
    without `jnp.frexp` and `jnp.ldexp`, which fail on explicit axes of a mesh with JAX 0.12.
    """
    largest = lax.stop_gradient(jnp.max(jnp.abs(array), axis=0, initial=0))
    limits = jnp.finfo(largest.dtype)
    most = jnp.asarray(limits.max, largest.dtype) / 4  # the inverse of a larger one underflows
    nearest = lax.reduce_precision(jnp.minimum(largest, most), limits.nexp, 0)
    some = (largest >= limits.tiny) & jnp.isfinite(largest)
    return jnp.where(some, nearest, jnp.ones_like(largest))


def root_of(array: jax.Array) -> jax.Array:
    """√ of numbers that are not negative, with gradient zero at zero."""
    nothing = array == 0
    root = jnp.sqrt(jnp.where(nothing, jnp.ones_like(array), array))
    return jnp.where(nothing, jnp.zeros_like(array), root)

"""The g(u) of semilinear equations, elliptic and parabolic."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def none(u: Float[Array, ""]) -> Float[Array, ""]:
    """0, for the Poisson equation."""
    return jnp.zeros_like(u)


def allen_cahn(u: Float[Array, ""]) -> Float[Array, ""]:
    """u − u³."""
    return u - u**3


def sine_gordon(u: Float[Array, ""]) -> Float[Array, ""]:
    """sin u."""
    return jnp.sin(u)

"""Nested autodiff that several files of tests compare the library with; `oracle.py` has that of all
operators.
"""

import jax
import jax.numpy as jnp


def laplacian(u):
    """Δu, of each entry of what u returns."""
    return lambda x: jnp.trace(jax.hessian(u)(x), axis1=-2, axis2=-1)


def allen_cahn(problem, u):
    """The residual Δu + u − u³ − f of such a problem."""
    return lambda x: laplacian(u)(x) + u(x) - u(x) ** 3 - problem.source(x)


def enhanced(residual, weight):
    """The square of a residual, and of its gradient times a weight: what a loss is the mean of."""
    return lambda x: residual(x) ** 2 + weight * jnp.sum(jax.grad(residual)(x) ** 2)


def mean_square(residual, points):
    return jnp.mean(jnp.square(jax.vmap(residual)(points)))

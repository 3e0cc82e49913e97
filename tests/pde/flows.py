"""Steady flows in a rectangle by their stream function, for tests."""

import equinox as eqx
import jax
import jax.numpy as jnp


def network(problem, size=6):
    """In the problem's ansatz, untrained."""
    return problem.ansatz(eqx.nn.MLP(2, "scalar", size, 2, jnp.tanh, key=jax.random.key(5)))


def velocity(psi):
    """(ψ_y, −ψ_x)."""

    def at(x):
        slope_x, slope_y = jax.grad(psi)(x)
        return jnp.stack([slope_y, -slope_x])

    return at

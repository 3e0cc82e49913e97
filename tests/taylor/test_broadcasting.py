"""Coefficients of values that a primitive broadcasts along axes of size one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")
A = np.arange(1.0, 13.0).reshape(3, 4) / 7
FUNCTIONS = {
    "difference": lambda x: jnp.sum(jnp.tanh(x[:, None] - jnp.sum(x**3)[None, None] * A)),
    "only_the_small_one_moves": lambda x: jnp.sum(jnp.exp(A[0] - jnp.sum(x**2)[None])),
    "outer": lambda x: jnp.sum(jnp.sin(x[:, None] * jnp.sin(x)[None, :])),
    "quotient": lambda x: jnp.sum(x[:, None] / (1 + x[None, :] ** 2)),
    "power": lambda x: jnp.sum((1 + x[:, None] ** 2) ** A),
    "maximum": lambda x: jnp.sum(jnp.maximum(x[:, None], A) ** 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_nested_differentiation(name):
    u = FUNCTIONS[name]
    x = jnp.array([0.3, -0.7, 0.9])
    expected = jnp.trace(jax.jit(jax.hessian(u))(x))
    got = jax.jit(do.Laplacian().exact(u))(x)
    assert abs(got - expected) <= 1e-11 * max(1.0, abs(expected))

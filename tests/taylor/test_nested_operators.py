"""Operators inside of functions that operators act on: the engine's own products are pushed by the
rules of products.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.taylor.rules import by_jvp

pytestmark = pytest.mark.usefixtures("x64")

RNG = np.random.default_rng(0)
FIRST, SECOND, LAST = (RNG.normal(size=s) / 2 for s in ((9, 7), (8, 9), (8,)))
X = RNG.normal(size=7)


def network(x):
    return LAST @ jnp.tanh(SECOND @ jnp.tanh(FIRST @ x))


def trace(u):
    return lambda x: jnp.trace(jax.jacfwd(jax.jacfwd(u))(x))


def nonlinear(operator):
    """A function of a function that an operator is applied to."""
    laplacian = operator(network)
    return operator(lambda x: jnp.sin(laplacian(x)) * network(x))


def test_nested_operators_have_rules_throughout(caplog, monkeypatch):
    monkeypatch.setattr(by_jvp, "_logged", set())
    laplacian = do.Laplacian()
    x = jnp.asarray(X)
    with caplog.at_level("INFO", logger="diffop.taylor"):
        found = jax.jit(nonlinear(laplacian.exact))(x)
    np.testing.assert_allclose(found, jax.jit(nonlinear(trace))(x), rtol=1e-10)
    assert not [message for message in caplog.messages if "has no Taylor rule" in message]

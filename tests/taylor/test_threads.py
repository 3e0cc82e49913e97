"""Several threads that trace at once, with fewer programs kept than they ask for."""

import concurrent.futures
import math
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.taylor.rules import programs


@pytest.fixture
def switching():
    """Threads take turns after each few operations."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_the_programs_of_equations(monkeypatch, switching, as_users_see_it):
    """Each thread asks for all of twelve programs, of which three are kept; each time it gets its
    own, that of a product with a number.
    """
    kept = programs._Programs(capacity=3)
    equations = [
        jax.make_jaxpr(lambda x, n=n: jnp.zeros(n) + x)(1.0).jaxpr.eqns[0] for n in range(1, 13)
    ]
    traced = jax.make_jaxpr(lambda x: x)(1.0)
    monkeypatch.setattr(programs, "_traced", lambda program, _: (program(), traced))

    def ask(seed):
        order = np.random.default_rng(seed).permutation(np.tile(np.arange(12), 300))
        return all(
            kept.of(("of", n), equations[n], lambda n=n: n, [1.0])[0] == n for n in order.tolist()
        )

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert len(kept._entries) == 3


def test_operators_traced_at_once(monkeypatch):
    """The same function by eight threads, each with an order of its own."""
    monkeypatch.setattr(programs, "_programs", programs._Programs(capacity=2))

    def derivative(order):
        u = lambda x: jnp.sin(jnp.exp(x)) * jnp.arctan(x) + jnp.cosh(x)
        return float(do.Partial(order=order).exact(lambda x: jnp.exp(2 * x) + 0 * u(x))(0.5))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(derivative, [1, 2, 3, 4] * 2))
    expected = [2**k * math.e for k in (1, 2, 3, 4)] * 2
    np.testing.assert_allclose(found, expected, rtol=1e-5)

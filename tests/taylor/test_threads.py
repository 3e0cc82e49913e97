"""Several threads that trace at once, with fewer programs kept than they ask for."""

import concurrent.futures
import functools
import math
import sys

import jax
import jax.extend.core as jex
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


@pytest.fixture
def few(monkeypatch):
    """Three programs are kept."""
    kept = functools.lru_cache(maxsize=3)(programs._traced.__wrapped__)
    monkeypatch.setattr(programs, "_traced", kept)
    return kept


def test_the_programs_of_equations(few, switching, as_users_see_it):
    """Each thread asks for all of twelve programs, of which three are kept; each time it gets its
    own, that of a product with a number.
    """
    equations = [
        jax.make_jaxpr(lambda x, n=n: jnp.zeros(n) + x)(1.0).jaxpr.eqns[0] for n in range(12)
    ]

    def times(n):
        program = programs._about(("of", n), equations[n], lambda x: x * n, [1.0])
        return float(jex.jaxpr_as_fun(program)(2.0)[0])

    def ask(seed):
        order = np.random.default_rng(seed).permutation(np.tile(np.arange(12), 10))
        return all(times(n) == 2 * n for n in order.tolist())

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert few.cache_info().currsize == 3


def test_operators_traced_at_once(few):
    """The same function by eight threads, each with an order of its own."""

    def derivative(order):
        u = lambda x: jnp.sin(jnp.exp(x)) * jnp.arctan(x) + jnp.cosh(x)
        return float(do.Partial(order=order).exact(lambda x: jnp.exp(2 * x) + 0 * u(x))(0.5))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(derivative, [1, 2, 3, 4] * 2))
    expected = [2**k * math.e for k in (1, 2, 3, 4)] * 2
    np.testing.assert_allclose(found, expected, rtol=1e-5)

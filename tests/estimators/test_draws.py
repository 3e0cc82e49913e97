"""A draw is its key, its n and its probe, wherever it travels: standard errors of sums of estimates
with equal, overlapping and different keys, by z-tests.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop import probes

from .. import jaxprs
from ..draws import check_errors, many

pytestmark = pytest.mark.usefixtures("x64")

D = 5
H = np.random.default_rng(0).normal(size=(D, D))
X = np.linspace(0.3, 1.2, D)
WEIGHTS = np.array([1.0, 3.0, 2.0, 0.5, 1.0])


def u(x):
    return jnp.sum(jnp.asarray(H) * x[:, None] * x[None, :]) + jnp.sum(x**4) * x[1]


L, FOURTH = do.Laplacian(), do.DiagonalK(4)
C = do.SecondOrder(jnp.asarray(np.diag(WEIGHTS) - 0.5))
ONE, OTHER = probes.Importance(WEIGHTS), probes.Importance(WEIGHTS[::-1].copy())


def inside(E, F):
    """Both as arguments of one jitted function: their keys are traced, each by itself."""
    return jax.jit(lambda E, F: (E + F).stats(u)(jnp.asarray(X))[:2])(E, F)


def outside(*estimates):
    return sum(estimates).stats(u)(jnp.asarray(X))[:2]


SUMS = {
    "equal": lambda a, b: outside(L.estimate(a, 3), L.estimate(a, 3)),
    "equal and scaled": lambda a, b: outside(
        0.5 * L.estimate(a, 3), -2.0 * L.estimate(b, 3), L.estimate(a, 3)
    ),
    "different operators": lambda a, b: outside(L.estimate(a, 3), 0.3 * FOURTH.estimate(a, 3)),
    "different keys": lambda a, b: outside(L.estimate(a, 3), L.estimate(b, 3)),
    "different n": lambda a, b: outside(L.estimate(a, 2), L.estimate(a, 4)),
    "different probes": lambda a, b: outside(
        L.estimate(a, 3, "gaussian"), L.estimate(a, 3, "rademacher")
    ),
    "different weights": lambda a, b: outside(L.estimate(a, 3, ONE), L.estimate(a, 3, OTHER)),
    "of one matrix": lambda a, b: outside(C.estimate(a, 2), C.estimate(a, 2), L.estimate(a, 2)),
    "twice into jit": lambda a, b: inside(L.estimate(a, 3), L.estimate(a, 3)),
    "two into jit": lambda a, b: inside(L.estimate(a, 3), L.estimate(b, 3)),
    "two operators into jit": lambda a, b: inside(
        L.estimate(a, 3, "gaussian"), 2.0 * C.estimate(a, 3, "gaussian")
    ),
    "overlapping": lambda a, b: inside(
        L.estimate(a, 3) + FOURTH.estimate(b, 2), FOURTH.estimate(a, 3) - L.estimate(b, 2)
    ),
    "weights into jit": lambda a, b: inside(L.estimate(a, 3, ONE), L.estimate(a, 3, OTHER)),
}


@pytest.fixture(scope="module")
def sampled():
    """All the sums for all keys, from one program."""

    def every(key):
        a, b = jr.split(key)
        return [make(a, b) for make in SUMS.values()]

    return dict(zip(SUMS, many(every, 4000), strict=True))


@pytest.mark.parametrize("name", SUMS)
def test_standard_errors_of_sums(name, sampled):
    check_errors(*sampled[name])


def test_equal_or_not_key_by_key():
    """Of two traced keys some are equal and some are not: for each what merged draws say."""
    x = jnp.asarray(X)
    a = jr.split(jr.key(2), 4)
    b = a.at[1].set(jr.key(9)).at[3].set(jr.key(8))
    pairs = [(L.estimate(a[i], 3), 2.0 * FOURTH.estimate(b[i], 3)) for i in range(4)]

    def every(a, b):
        each = jax.vmap(lambda a, b: inside(L.estimate(a, 3), 2.0 * FOURTH.estimate(b, 3)))
        merged = [(E + F).stats(u)(x)[:2] for E, F in pairs]
        error = lambda E: E.stats(u)(x).standard_error
        first = jax.vmap(lambda a: error(L.estimate(a, 3)))(a)
        second = jax.vmap(lambda b: error(2.0 * FOURTH.estimate(b, 3)))(b)
        return each(a, b), merged, jnp.stack([first, second], axis=1)

    (mean, error), merged, apart = jax.jit(every)(a, b)
    for i, (expected_mean, expected) in enumerate(merged):
        if i in (1, 3):
            np.testing.assert_allclose(expected, np.hypot(*apart[i]), rtol=1e-12)
        np.testing.assert_allclose(mean[i], expected_mean, rtol=1e-12)
        np.testing.assert_allclose(error[i], expected, rtol=1e-12)


def test_a_new_key_compiles_nothing():
    traces = []

    @jax.jit
    def run(E, F):
        traces.append(1)
        return (E + F).stats(u)(jnp.asarray(X))[:2]

    for seed in range(3):
        E = L.estimate(jr.key(seed), 3)
        run(E, E)
        run(E, L.estimate(jr.key(9), 3))
    assert len(traces) == 1


def test_equal_draws_merge():
    """However their keys are written: jets are pushed once."""
    x = jnp.asarray(X)
    raw = jr.PRNGKey(0)
    (E, F, G) = (L.estimate(k, 3) for k in (jr.key(0), jr.key(0), raw))
    jets, none = jax.jit(lambda x: (jnp.asarray((E + F + G).stats(u)(x).jets), (E - F)(u)(x)))(x)
    assert jets == 3 and none == 0
    assert len((E + F + G).parts) == 1
    assert len((E + L.estimate(jr.key(0), 2)).parts) == 2


def test_traced_estimates_merge_with_themselves():
    E = L.estimate(jr.key(0), 3)
    jets = jax.jit(lambda E: jnp.asarray((E + E).stats(u)(jnp.asarray(X)).jets))(E)
    assert jets == 3


def test_of_several_operators():
    """`do.estimate` and its moments know equal draws as well."""
    x = jnp.asarray(X)
    joint = lambda E, F: do.exact([E, F]).draws(u)(x).of(lambda v: v[0] + v[1]).variance()
    E, F = L.estimate(jr.key(0), 3), FOURTH.estimate(jr.key(0), 3)
    known, expected = jax.jit(lambda x: (joint(E, F), (E + F).stats(u)(x).standard_error ** 2))(x)
    np.testing.assert_allclose(known, expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(joint)(E, F), expected, rtol=1e-12)


def test_weights_are_no_leaves_to_be_learnt():
    E = 2.0 * L.estimate(jr.key(0), 2, ONE)
    kinds = [leaf.dtype for leaf in jax.tree.leaves(E)]
    assert not any(jnp.issubdtype(kind, jnp.inexact) for kind in kinds)


def test_draws_that_are_told_apart_need_no_matrix():
    """No array with a row and a column for each draw, with one jet for each draw and with two."""
    n, x = 200, jnp.linspace(0.1, 1.0, 1000)
    u = lambda x: jnp.sum(jnp.sin(x) * x)
    for operator in (L, L @ L):
        estimate = operator.estimate(jr.key(0), n)
        made = jaxprs.sizes(jaxprs.of(lambda x, e=estimate: e.stats(u)(x)[:2], x))
        assert max(made) < n**2


def test_an_infinite_draw_leaves_the_others_as_they_are():
    """Where a second derivative is infinite in one coordinate, the draws of others are finite."""
    x = jnp.array([0.0, 1.0, 4.0, 9.0])
    draws = do.estimate(L, jr.key(0), 3).draws(lambda x: jnp.sum(x**1.5))(x)
    (each,) = draws.contributions
    each = np.sort(each)
    second = 0.75 / np.sqrt(x[1:]) * len(x) / 3
    assert each[-1] == np.inf
    assert all(np.isclose(second, value).any() for value in each[:-1])


@pytest.mark.parametrize("operator", [L, L @ L], ids=str)
def test_draws_in_chunks_are_the_same(operator):
    """Also if the last chunk is smaller, and in reverse mode."""
    x, estimates = jnp.asarray(X), do.estimate([operator], jr.key(0), 4, "gaussian")

    def both(x):
        whole, parts = estimates.draws(u)(x), estimates.draws(u, chunk=3)(x)
        return [each.contributions for each in (whole, parts)]

    found, slopes = jax.jit(lambda x: (both(x), jax.jacrev(both)(x)))(x)
    assert jax.tree.leaves(found)[0].shape == (4,)
    for whole, parts in (found, slopes):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10), parts, whole)

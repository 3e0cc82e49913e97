"""Each primitive: one curve by `do.taylor.jet`, many collapsed directions by an operator."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do

from .curves import assert_same_series, nested_jvp, series_by_leaf
from .primitives import CASES, N

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.5, -0.8, 1.1, 0.3, -0.6, 0.9])


def curve(order):
    with jax.enable_x64(True):
        terms = jr.normal(jr.key(5), (order, N))
        return jnp.asarray(X), [terms[k] for k in range(order)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_jet_against_nested_jvp(case):
    x, series = curve(case.order)
    primals, terms = jax.jit(lambda x, s: do.taylor.jet(case.function, (x,), (s,)))(x, series)
    assert jax.tree.structure(primals) == jax.tree.structure(case.function(x))
    got, expected = series_by_leaf(primals, terms), nested_jvp(case.function, x, series)
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert_same_series(g, e)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_collapsed_directions_against_the_oracle(case):
    """Σ_i ∂_i³ pushes six directions at once and sums their third order on the way."""

    def inexact(x):
        leaves = jax.tree.leaves(case.function(x))
        return [y for y in leaves if jnp.issubdtype(y.dtype, jnp.inexact)]

    x = jnp.asarray(X)
    got = jax.jit(do.DiagonalK(3).exact(inexact))(x)

    def along_axis(e):
        return [terms[3] for terms in nested_jvp_raw(inexact, x, e)]

    expected = [jnp.sum(y, axis=0) for y in jax.jit(jax.vmap(along_axis))(jnp.eye(N))]
    for g, e in zip(got, expected, strict=True):
        assert g.dtype == e.dtype
        scale = max(1.0, float(jnp.max(jnp.abs(e))))
        np.testing.assert_allclose(g, e, rtol=0, atol=1e-10 * scale)


def nested_jvp_raw(f, x, direction):
    zero = jnp.zeros_like(direction)
    return nested_jvp(f, x, [direction, zero, zero])

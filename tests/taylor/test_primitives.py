"""Each primitive: one curve by `do.taylor.jet`, many collapsed directions by an operator."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..together import Together
from .curves import assert_same_series, nested_jvp, series_by_leaf
from .primitives import CASES, N

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.5, -0.8, 1.1, 0.3, -0.6, 0.9])


SERIES = np.random.default_rng(5).normal(size=(max(case.order for case in CASES), N))


@functools.cache
def nested(case):
    """For each output its derivatives of order 0, 1, … along curves, which the first axis numbers:
    one of random terms, and the coordinates'. One program.
    """
    axes = np.zeros((N, case.order, N))
    axes[:, 0] = np.eye(N)
    along = lambda terms: nested_jvp(case.function, jnp.asarray(X), list(terms))
    return jax.device_get(jax.jit(jax.vmap(along))(jnp.asarray([SERIES[: case.order], *axes])))


def of_series(case):
    return [[order[:1] for order in output] for output in nested(case)]


def of_axes(case):
    """Σ_i ∂_i³ of each output."""
    return [np.sum(output[3][1:], axis=0) for output in nested(case)]


def jet(case):
    return lambda x, series: do.taylor.jet(case.function, (x,), (list(series[: case.order]),))


JETS = Together(CASES, jet)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_jet_against_nested_jvp(case, kept):
    x = jnp.asarray(X)
    primals, terms = JETS(case, x, jnp.asarray(SERIES))
    assert jax.tree.structure(primals) == jax.tree.structure(jax.eval_shape(case.function, x))
    got, expected = series_by_leaf(primals, terms), kept(lambda: of_series(case))
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert_same_series(g, [order[0] for order in e])


def inexact(case):
    """The outputs that have derivatives."""

    def outputs(x):
        leaves = jax.tree.leaves(case.function(x))
        return [y for y in leaves if jnp.issubdtype(y.dtype, jnp.inexact)]

    return outputs


CUBES = Together(CASES, lambda case: do.DiagonalK(3).exact(inexact(case)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_collapsed_directions_against_the_oracle(case, kept):
    """Σ_i ∂_i³ pushes six directions at once and sums their third order on the way."""
    expected = kept(lambda: of_axes(case))
    for g, e in zip(CUBES(case, jnp.asarray(X)), expected, strict=True):
        assert g.dtype == e.dtype
        scale = max(1.0, float(np.max(np.abs(e))))
        np.testing.assert_allclose(g, e, rtol=0, atol=1e-10 * scale)

"""ParabolicTrace and SecondOrder with a sparse matrix: the operator of the dense one, without a
d × d array.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.experimental.sparse import BCOO

import diffop as do

from .. import jaxprs
from ..draws import check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")
D = 7


def bidiagonal(d, dtype=float):
    """An upper bidiagonal matrix with one empty column, as BCOO, and dense."""
    dense = np.diag(np.linspace(0.5, 2.0, d)) + np.diag(np.full(d - 1, -0.3), 1)
    dense[:, 3] = 0.0
    rows, columns = np.nonzero(dense)
    indices = np.stack([rows, columns], axis=1)
    data = jnp.asarray(dense[rows, columns], dtype)
    return BCOO((data, jnp.asarray(indices)), shape=(d, d)), jnp.asarray(dense)


def u(x):
    return jnp.exp(jnp.sum(x[1:] * jnp.sin(x[:-1]))) + jnp.prod(1 + x**2)


def expected(sigma, x):
    return 0.5 * jnp.trace(sigma @ sigma.T @ jax.jit(jax.hessian(u))(x))


@pytest.mark.parametrize("transposed", [False, True])
def test_exact(transposed):
    sparse, dense = bidiagonal(D)
    if transposed:
        sparse, dense = sparse.T, dense.T
    x = jr.normal(jr.key(0), (D,)) / 3
    L = do.ParabolicTrace(sparse)
    np.testing.assert_allclose(jax.jit(L.exact(u))(x), expected(dense, x), rtol=1e-12)
    np.testing.assert_allclose(eqx.filter_jit(lambda L: L.exact(u)(x))(L), expected(dense, x))
    assert L == L and isinstance(str(L), str)


def test_a_sparse_coefficient():
    """C:∇² with entries on both sides of the diagonal, as a matrix and as a function."""
    sparse, dense = bidiagonal(D)
    x = jr.normal(jr.key(0), (D,)) / 3
    want = jnp.sum(dense * jax.jit(jax.hessian(u))(x))
    L = do.SecondOrder(sparse)
    np.testing.assert_allclose(L.exact(u)(x), want, rtol=1e-12)
    by_function = do.SecondOrder(lambda x: L.C)
    np.testing.assert_allclose(jax.jit(by_function.exact(u))(x), want, rtol=1e-12)
    check_mean(many(lambda key: L.estimate(key, 6, probes="shifted")(u)(x), 300), want)
    assert L == L and L != do.ParabolicTrace(sparse)


def test_a_function_that_returns_one():
    """σ(x) with columns x_i e_i + x_{i+1} e_{i+1}, one entry written twice."""
    i = np.arange(D)
    positions = np.stack([i, (i + 1) % D, i], axis=1)
    values = lambda x: jnp.stack([x, jnp.roll(x, -1), 0 * x], axis=1)
    sigma = lambda x: do.operators.SparseColumns(positions, values(x), rows=D)
    x = jr.normal(jr.key(0), (D,)) / 3
    dense = jnp.zeros((D, D)).at[positions, i[:, None]].add(values(x))
    got = jax.jit(do.ParabolicTrace(sigma).exact(u))(x)
    np.testing.assert_allclose(got, expected(dense, x), rtol=1e-12)


def test_some_coordinates():
    sparse, dense = bidiagonal(4)
    x = jr.normal(jr.key(0), (D,)) / 3
    dims = (1, 2, 5, 6)
    full = jnp.zeros((D, 4)).at[np.array(dims)].set(dense)
    got = jax.jit(do.ParabolicTrace(sparse, dims=dims).exact(u))(x)
    np.testing.assert_allclose(got, expected(full, x), rtol=1e-12)


@pytest.mark.parametrize("probes", ["sparse", "gaussian"])
def test_estimates_are_unbiased(probes):
    sparse, dense = bidiagonal(D)
    x = jr.normal(jr.key(0), (D,)) / 3
    L = do.ParabolicTrace(sparse)
    values = many(lambda key: L.estimate(key, 2, probes=probes)(u)(x), 4000)
    check_mean(values, float(expected(dense, x)))


def test_the_gradient_by_its_entries():
    sparse, dense = bidiagonal(D)
    x = jr.normal(jr.key(0), (D,)) / 3
    build = lambda data: BCOO((data, sparse.indices), shape=sparse.shape)
    value = lambda data: do.ParabolicTrace(build(data)).exact(u)(x)
    got = jax.jit(jax.grad(value))(sparse.data)
    want = jax.jit(jax.grad(lambda s: expected(s, x)))(dense)
    rows, columns = np.asarray(sparse.indices).T
    np.testing.assert_allclose(got, want[rows, columns], rtol=1e-10, atol=1e-12)


def test_nothing_of_d_by_d():
    d = 101
    sparse, _ = bidiagonal(d)
    body = lambda y: jnp.sum(jnp.sin(y[1:] * y[:-1]))
    eqns = jaxprs.of(jax.grad(do.ParabolicTrace(sparse).exact(body)), jnp.ones(d) / d)
    assert not [s for s in jaxprs.sizes(eqns) if s >= d * (d - 1)]


def traced_indices():
    data = jnp.ones(1)
    sigma = lambda i: do.ParabolicTrace(BCOO((data, i), shape=(D, D)))
    return jax.jit(lambda i: sigma(i).exact(u)(jnp.ones(D)))(jnp.zeros((1, 2), int))


def test_the_gradient_along_its_columns():
    """σᵀ∇u, of one value and of several."""
    sigma, dense = bidiagonal(D)
    x = jnp.linspace(-1, 1, D)
    for function in (u, lambda x: jnp.stack([u(x), x[0] ** 2 * x[1]])):
        expected = jax.jacrev(function)(x) @ np.asarray(dense)
        np.testing.assert_allclose(do.Gradient(sigma).exact(function)(x), expected, rtol=1e-12)
        varying = do.Gradient(lambda x: sigma)
        np.testing.assert_allclose(varying.exact(function)(x), expected, rtol=1e-12)


test_refused = refusals(
    {
        "sigma of .* must have shape": lambda: do.ParabolicTrace(bidiagonal(D)[0]).exact(u)(
            jnp.ones(D + 1)
        ),
        "C of SecondOrder must have shape": lambda: do.SecondOrder(bidiagonal(D)[0]).exact(u)(
            jnp.ones(D + 1)
        ),
        r"integer from 0 to 2, for 3 rows; got values \(3, 1\) and positions int64\(3, 1\)": [
            lambda: do.operators.SparseColumns(np.array([[-1], [1], [2]]), jnp.ones((3, 1)), 3),
            lambda: do.operators.SparseColumns(np.array([[0], [1], [3]]), jnp.ones((3, 1)), 3),
        ],
        r"and positions float64\(3, 1\)": lambda: do.operators.SparseColumns(
            np.zeros((3, 1)), jnp.ones((3, 1)), 3
        ),
        r"got values \(3, 2\) and positions int64\(3, 1\)": lambda: do.operators.SparseColumns(
            np.zeros((3, 1), int), jnp.ones((3, 2)), 3
        ),
        "sigma of Gradient must have shape": lambda: do.Gradient(bidiagonal(D)[0]).exact(u)(
            jnp.ones(D + 1)
        ),
    },
    {"indices of sigma .* must be known": traced_indices},
)


@pytest.mark.parametrize("diagonal", [False, True])
def test_complex_columns_in_chunks(diagonal):
    """½ tr(σσᵀ D²u) of the analytic Σ xᵢ³ x_{3−i}, whose second derivatives are written down."""
    positions = np.array([[0, 1], [1, 2], [2, 3]])
    values = jnp.array([[1.0, 2.0j], [1.0j, 1.0], [3.0, 1.0]])
    dense = np.zeros((4, 3), complex)
    np.add.at(dense, (positions, np.arange(3)[:, None]), np.asarray(values))
    if diagonal:
        dense = np.diag([1.0, 2.0j, 1.0 + 1.0j, 3.0])
        sigma = lambda x: jnp.asarray(np.diagonal(dense))
    else:
        sigma = lambda x: do.operators.SparseColumns(positions, values, rows=4)
    x = np.arange(1.0, 5.0) + 1.0j
    hessian = np.diag(6 * x * x[::-1])
    hessian[np.arange(4), np.arange(4)[::-1]] = 3 * (x**2 + x[::-1] ** 2)
    L = do.ParabolicTrace(sigma)
    want = 0.5 * np.trace(dense @ dense.T @ hessian)
    for chunk in (None, 1, 2):
        found = L.exact(lambda x: jnp.sum(x**3 * x[::-1]), chunk=chunk)(jnp.asarray(x))
        np.testing.assert_allclose(found, want, rtol=1e-12)

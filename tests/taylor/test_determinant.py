"""`jnp.linalg.slogdet`, against nested differentiation, and what it makes of electrons."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import jaxprs
from ..nested import laplacian

pytestmark = pytest.mark.usefixtures("x64")

N = 5
RNG = np.random.default_rng(0)
FIRST, SECOND, POINT, V, THIRD = (
    RNG.normal(size=shape) for shape in [(3, 7), (7, N), (N, 3), (N, 3), (7, 7)]
)


def rows(x):
    """Each electron's coordinates reach their own row only."""
    return jnp.tanh(x @ FIRST) @ SECOND


def columns(x):
    return rows(x).T


def distances(x):
    """Features beside the coordinates, which move along all three of their electron."""
    length = jnp.linalg.norm(x, axis=-1, keepdims=True)
    features = jnp.concatenate([x / length * jnp.log1p(length), x, length], axis=-1)
    return jnp.tanh(features @ THIRD) @ SECOND * jnp.exp(-length)


def several(x):
    return jnp.einsum("ef,dfo->deo", jnp.tanh(x @ FIRST), np.stack([SECOND, np.sin(SECOND)]))


def mixed(x):
    return rows(x) + jnp.sin(jnp.sum(x)) * jnp.eye(N)


def complex_rows(x):
    return jax.lax.complex(rows(x), jnp.sin(x @ FIRST) @ SECOND)


def still_in_part(x):
    return rows(x).at[1:].set(np.cos(SECOND[: N - 1]))


MATRICES = {
    f.__name__: f for f in (rows, columns, distances, several, mixed, complex_rows, still_in_part)
}


def log_psi(matrix):
    """Sign and logarithm, both of which move where the matrix is complex."""

    def u(x):
        sign, log = jnp.linalg.slogdet(matrix(x))
        return jnp.sum(log * (1 + jnp.real(sign) * jnp.real(sign)) + jnp.imag(sign))

    return u


def nested_laplacian(u):
    return lambda x: jnp.trace(jax.hessian(lambda z: u(z.reshape(N, 3)))(jnp.ravel(x)))


@pytest.mark.parametrize("name", MATRICES)
def test_laplacian(name, kept):
    u, x = log_psi(MATRICES[name]), jnp.asarray(POINT)
    expected = kept(lambda: jax.jit(nested_laplacian(u))(x))
    np.testing.assert_allclose(jax.jit(do.Laplacian().exact(u))(x), expected, rtol=1e-11)


@pytest.mark.parametrize("name", ["rows", "several", "complex_rows"])
def test_fifth_order_along_a_line(name, kept):
    u, v = log_psi(MATRICES[name]), jnp.asarray(V)

    def nested():
        along = lambda t: u(POINT + t * V)
        derivatives = []
        for _ in range(5):
            along = (lambda f: lambda t: jax.jvp(f, (t,), (jnp.ones(()),))[1])(along)
            derivatives.append(along)
        return jax.jit(lambda t: jnp.stack([f(t) for f in derivatives]))(jnp.zeros(()))

    still = jnp.zeros_like(v)
    _, series = jax.jit(lambda v: do.taylor.jet(u, (jnp.asarray(POINT),), ([v] + [still] * 4,)))(v)
    np.testing.assert_allclose(series, kept(nested), rtol=1e-9)


def test_gradients_by_parameters(kept):
    def loss(weights, laplacian):
        return laplacian(lambda x: jnp.linalg.slogdet(jnp.tanh(x @ weights))[1])(jnp.asarray(POINT))

    weights = jnp.asarray(np.random.default_rng(3).normal(size=(3, N)))
    got = jax.jit(jax.grad(lambda w: loss(w, do.Laplacian().exact)))(weights)
    expected = kept(lambda: jax.jit(jax.grad(lambda w: loss(w, nested_laplacian)))(weights))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_replaced_directions_and_a_mapped_point(kept):
    """More coordinates than directions that the matrix moves along, under `jax.vmap`."""
    W = np.random.default_rng(1).normal(size=(40, 3)) / 6

    def u(x):
        h = jnp.sin(x @ W)
        return jnp.linalg.slogdet(jnp.outer(h, h) + jnp.diag(jnp.cos(h)))[1]

    x = jnp.asarray(np.random.default_rng(2).normal(size=(2, 40)))
    expected = kept(lambda: jax.jit(jax.vmap(laplacian(u)))(x))
    got = jax.jit(jax.vmap(do.Laplacian().exact(u)))(x)
    np.testing.assert_allclose(got, expected, rtol=1e-11)


@pytest.mark.parametrize("name", ["rows", "columns", "distances", "several"])
def test_electrons_move_their_own_rows(name):
    """No array of directions × matrix, and one factorisation beside that of the value."""
    eqns = jaxprs.of(do.Laplacian().exact(log_psi(MATRICES[name])), jnp.asarray(POINT))
    assert max(jaxprs.sizes(eqns)) < 3 * N * N * N
    assert jaxprs.count(eqns)["lu"] == 2


def test_a_function_of_the_same_name_is_not_mistaken():
    @jax.custom_jvp
    def _slogdet_lu(a):
        return jnp.sum(a), jnp.sum(a)

    _slogdet_lu.defjvp(lambda p, t: (_slogdet_lu(*p), (jnp.sum(t[0]), jnp.sum(p[0] * t[0]))))
    u = lambda x: _slogdet_lu(jnp.diag(x))[1]
    np.testing.assert_allclose(do.Laplacian().exact(u)(jnp.array([1.0, 2.0, 3.0])), 3.0)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_do_not_count(scale):
    """In single precision, beside JAX's own error."""
    with jax.enable_x64(False):
        x = jnp.asarray(POINT, "float32")
        single = lambda x: scale * jnp.tanh(x @ FIRST.astype("float32")) @ SECOND.astype("float32")
        u = lambda x: jnp.linalg.slogdet(single(x))[1]
        ways = nested_laplacian(u), do.Laplacian().exact(u)
        nested, got = jax.jit(lambda x: [way(x) for way in ways])(x)
    exact = jax.jit(nested_laplacian(lambda x: jnp.linalg.slogdet(rows(x))[1]))
    truth = exact(x.astype("float64"))
    own, other = (abs(float(each) / float(truth) - 1) for each in (got, nested))
    assert own <= 8 * other + 4 * np.finfo("float32").eps


def test_nearly_singular_matrices_of_which_all_moves():
    """In single precision, beside JAX's own errors: rank one and a thousandth of something else,
    conditions of 10⁴ to 10⁶. Traces of powers one by one would lose 2.4 times as much as JAX.
    """

    def u(x):
        m, small = jnp.tanh(x @ FIRST.astype(x.dtype)) @ SECOND.astype(x.dtype), 1e-3
        rest = m + jnp.sin(jnp.sum(x)) * jnp.eye(N, dtype=x.dtype)
        return jnp.linalg.slogdet(jnp.outer(m[:, 0], m[0]) + small * rest)[1]

    points = np.random.default_rng(4).normal(size=(1000, N, 3)).astype("float32")
    nested, own = nested_laplacian(u), do.Laplacian().exact(u)
    truth = jax.jit(lambda x: jax.lax.map(nested, x))(points.astype("float64"))
    with jax.enable_x64(False):
        both = jax.jit(lambda x: jax.lax.map(lambda x: (own(x), nested(x)), x))(points)
    mine, other = (np.median(np.abs(np.asarray(each) / np.asarray(truth) - 1)) for each in both)
    assert other > 1e-3
    assert mine <= 2 * other

"""Second order at every scale: in float32, judged beside nested `jax.jvp` in float32.

A coefficient of 1e-12 or 1e12 is as ordinary as one of 1: what is lost must never be more than
eight times what JAX itself loses, and four units in the last place.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

SCALES = np.array([1e-12, 1e-8, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e12], np.float32)
_rng = np.random.default_rng(0)
D = 6
A = _rng.normal(size=(D, D)).astype(np.float32)
B, C = _rng.normal(size=(2, D)).astype(np.float32)
FIRST = _rng.normal(size=(8, D)).astype(np.float32) / 2
SECOND = _rng.normal(size=(3, 8)).astype(np.float32) / 2
POINT = _rng.normal(size=D).astype(np.float32)
KEY = jax.random.key(0)


def network(x):
    first, second = (jnp.asarray(w, x.dtype) for w in (FIRST, SECOND))
    return jnp.sum(jnp.tanh(second @ jnp.tanh(first @ x)) * (1 - jnp.sum(x**2)))


def narrow(x):
    """Fewer values are live behind the first layer than there are directions."""
    first, second = (jnp.asarray(w, x.dtype) for w in (FIRST[:3], SECOND[:, :3]))
    return jnp.sum(jnp.sin(second @ jnp.tanh(first @ x)))


def form(u, x, left, right):
    """Σ_r D²u(left_r, right_r), nested."""

    def along(a, b):
        return jax.jvp(lambda x: jax.jvp(u, (x,), (b,))[1], (x,), (a,))[1]

    return jnp.sum(jax.vmap(along)(left, right))


def _matrix(s):
    return do.SecondOrder(s * A), (jnp.eye(D), s * jnp.asarray((A + A.T) / 2))


def _function(s):
    return do.SecondOrder(lambda x: s * A * x[0]), (jnp.eye(D), s * A.T * POINT[0])


def _diagonal(s):
    return do.SecondOrder(s * B), (jnp.eye(D), s * jnp.diag(B))


def _directions(s):
    return do.Directional(jnp.asarray(B)) @ do.Directional(s * C), (B[None], s * C[None])


def _low_rank(s):
    rows = jnp.asarray(A[:2])
    weights = s * jnp.array([1.0, -0.5])
    return do.SecondOrder(do.operators.LowRank(rows.T, weights)), (rows, weights[:, None] * rows)


def _parabolic(s):
    return do.ParabolicTrace(jnp.sqrt(s) * A), (A.T / 2, s * A.T)


def _mixed(s):
    return s * do.Mixed({1: 1, 4: 1}), (jnp.eye(D)[1:2], s * jnp.eye(D)[4:5])


CASES = (_matrix, _function, _diagonal, _directions, _low_rank, _parabolic, _mixed)


def is_as_good(got, nested, truth):
    """Whether the largest relative error is at most eight times JAX's and four units more."""
    assert got.dtype == nested.dtype == np.float32
    ours, theirs = (np.abs(np.asarray(y, np.float64) / truth - 1) for y in (got, nested))
    assert np.max(ours) <= 8 * np.max(theirs) + 4 * np.finfo(np.float32).eps, ours


@pytest.mark.parametrize("u", [network, narrow], ids=lambda u: u.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_scaled_coefficients(case, u):
    x = jnp.asarray(POINT)
    got = jax.jit(jax.vmap(lambda s: case(s)[0].exact(u)(x)))(SCALES)
    with jax.numpy_dtype_promotion("standard"):
        nested = jax.jit(jax.vmap(lambda s: form(u, x, *map(jnp.asarray, case(s)[1]))))(SCALES)
        with jax.enable_x64(True):
            exact = jnp.asarray(POINT, jnp.float64)
            rows = [jnp.asarray(each, jnp.float64) for each in case(jnp.float32(1))[1]]
            value = jax.jit(lambda x, *rows: form(u, x, *rows))(exact, *rows)
            truth = float(value) * SCALES.astype(np.float64)
    is_as_good(got, nested, truth)


@pytest.mark.parametrize("probes", ["rademacher", "gaussian", "orthogonal"])
def test_scaled_draws(probes):
    """A draw is D²u(v, Cv), of the directions that its own plan says."""
    x = jnp.asarray(POINT)

    def both(s):
        estimate = do.SecondOrder(s * A).estimate(KEY, 3, probes=probes)
        (jets,) = estimate.jets(x)
        rows = [jets.tangents[exponents][0].values for exponents in ((1, 0), (0, 1))]
        weights = jnp.asarray(jets.weights, jnp.float32)[:, None]
        return estimate(network)(x), form(network, x, weights * rows[0], rows[1]), rows, weights

    got, nested, rows, weights = jax.jit(jax.vmap(both))(SCALES)
    with jax.enable_x64(True):
        left, right = (jnp.asarray(each[4], jnp.float64) for each in rows)
        scale = jnp.asarray(weights[4], jnp.float64)
        truth = float(form(network, jnp.asarray(POINT, jnp.float64), scale * left, right))
    is_as_good(got, nested, truth * SCALES.astype(np.float64))


def test_behind_a_cut_of_unequal_values():
    """Two values that move differ by two orders, where a function meets them that has no rule of
    its own.
    """
    left, right = 100 * FIRST[:3], 90 * FIRST[3:6]

    def u(x):
        pair = (jnp.asarray(w, x.dtype) @ x for w in (left, right))
        return jnp.sum(jnp.logaddexp(*pair) * jnp.arange(1, 4, dtype=x.dtype))

    x = jnp.asarray(POINT) / 100
    nested = jax.jit(lambda x: jnp.trace(jax.hessian(u)(x)))
    got, same = jax.jit(do.Laplacian().exact(u))(x), nested(x)
    with jax.enable_x64(True):
        truth = nested(jnp.asarray(POINT, jnp.float64) / 100)
    is_as_good(np.asarray(got)[None], np.asarray(same)[None], np.asarray(truth)[None])


def gradient_of_softplus(laplacian):
    def loss(weight, x):
        return laplacian(lambda x: jax.nn.softplus(weight * (1e-6 * jnp.sum(jnp.sin(x)) + 0.7)))(x)

    return jax.jit(jax.grad(loss))


GRADIENTS = [
    gradient_of_softplus(do.Laplacian().exact),
    gradient_of_softplus(lambda u: lambda x: jnp.trace(jax.hessian(u)(x))),
]


@pytest.mark.parametrize("weight", [1e2, 1e4, 1e5, 1e6, 1e8])
def test_gradients_by_weights_of_a_saturated_softplus(weight):
    """Far from zero its slope is one, and nothing of its rounding is left in a gradient."""
    got, same = (each(jnp.float32(weight), jnp.asarray(POINT)) for each in GRADIENTS)
    with jax.enable_x64(True):
        truth = GRADIENTS[1](jnp.float64(weight), jnp.asarray(POINT, jnp.float64))
    is_as_good(np.asarray(got), np.asarray(same), np.asarray(truth))


@functools.cache
def third_by_nesting():
    """D³u(B, C, A_0) in double precision."""
    with jax.enable_x64(True):
        u = network
        for v in (B, C, A[0]):
            u = lambda x, u=u, v=v: jax.jvp(u, (x,), (jnp.asarray(v, jnp.float64),))[1]
        return float(jax.jit(u)(jnp.asarray(POINT, jnp.float64)))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_powers_of_unequal_directions_are_balanced(scale):
    """A plan by powers, asked for by name, of vectors that differ in size."""
    factors = [do.Directional(jnp.asarray(s * v)) for s, v in ((1, B), (scale, C), (1, A[0]))]
    operator = factors[0] @ factors[1] @ factors[2]
    got = jax.jit(operator.exact(network, plan="power"))(jnp.asarray(POINT))
    truth = scale * third_by_nesting()
    assert abs(float(got) / truth - 1) < 1e-4  # of polarisation itself: digits of six directions


UNITS = {
    "divided": lambda x, s: (s * x) / (1.7 * s),
    "multiplied": lambda x, s: (s * x) * (0.6 / s),
    "there and back": lambda x, s: jnp.tanh((s * x) / s) * s / (1.7 * s),
}


def in_units(units, scale):
    return lambda x: jnp.sum(jnp.sin(UNITS[units](jnp.asarray(FIRST, x.dtype) @ x, scale)))


@functools.cache
def by_nesting(units):
    """In double precision, where the scale does not count."""
    second = jax.hessian(in_units(units, 1.0))
    nested = jax.jit(lambda x: (second(x), jax.jacfwd(jax.jacfwd(second))(x)))
    with jax.enable_x64(True):
        hessian, fourth = map(np.asarray, nested(jnp.asarray(POINT, jnp.float64)))
    return {
        "Δ": np.trace(hessian),
        "C": np.sum(A.astype(np.float64) * hessian),
        "Δ²": np.einsum("iijj", fourth),
    }


@pytest.mark.parametrize("scale", [1e-22, 1e-12, 1e12, 1e22])
@pytest.mark.parametrize("units", UNITS)
def test_a_value_in_other_units(units, scale):
    """Squares of what is in them may be out of range: the numbers that bring it back are multiplied
    first.
    """
    operators = {"Δ": do.Laplacian(), "C": do.SecondOrder(A), "Δ²": do.Biharmonic()}
    u = in_units(units, scale)
    every = jax.jit(lambda x: {name: L.exact(u)(x) for name, L in operators.items()})
    for name, value in every(jnp.asarray(POINT)).items():
        np.testing.assert_allclose(value, by_nesting(units)[name], rtol=2e-5, err_msg=name)

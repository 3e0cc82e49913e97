"""Deflation: Hutch++ and XTrace against enumeration, a naive leave-one-out, and exact traces."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop.estimators.trace_estimators import hutch_plus_plus, xtrace

from .. import oracle
from ..draws import check_errors, check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

METHODS = ["xtrace", "hutch++"]

D = 7
KEYS = 2000
RNG = np.random.default_rng(0)
C, SIGMA, B = RNG.normal(size=(D, D)), RNG.normal(size=(D, D + 2)), RNG.normal(size=D)
W = RNG.normal(size=(D, D)) / 2


def point():
    return jnp.linspace(-1.0, 1.0, D)


def quadratic(A):
    return lambda x: 0.5 * x @ jnp.asarray(A) @ x


def products_with(A):
    return lambda rows: rows @ jnp.asarray(A).T


def wave(x):
    return jnp.sum(jnp.sin(jnp.asarray(W) @ x)) * (1 + x[0] ** 2)


def field(x):
    return jnp.tanh(jnp.asarray(W) @ x) * (1 + x[1])


def number_of(x):
    return jnp.cos(x[0])


def matrix_of(x):
    return jnp.asarray(C) + jnp.outer(x, jnp.sin(x))


def sigma_of(x):
    return jnp.asarray(SIGMA) * x[0]


# Unbiased

DIMS = (5, 0, 2, 3, 6, 1)
EMBEDDED = np.eye(D)[:, list(DIMS)]
OPERATORS = {
    "laplacian": lambda: (do.Laplacian(), oracle.laplacian(D)),
    "laplacian_dims": lambda: (do.Laplacian(dims=DIMS), oracle.laplacian(D, DIMS)),
    "matrix": lambda: (do.SecondOrder(C), oracle.second_order(C)),
    "matrix_dims": lambda: (
        do.SecondOrder(C[:6, :6], dims=DIMS),
        oracle.second_order(EMBEDDED @ C[:6, :6] @ EMBEDDED.T),
    ),
    "vector": lambda: (do.SecondOrder(B), oracle.second_order(B)),
    "of_point": lambda: (do.SecondOrder(matrix_of), oracle.second_order(matrix_of)),
    "matvec": lambda: (
        do.SecondOrder(do.operators.MatVec(lambda v: C @ v)),
        oracle.second_order(C),
    ),
    "sigma": lambda: (do.ParabolicTrace(SIGMA), oracle.parabolic(SIGMA, D)),
    "sigma_dims": lambda: (
        do.ParabolicTrace(SIGMA[:6], dims=DIMS),
        oracle.parabolic(EMBEDDED @ SIGMA[:6], D),
    ),
    "sigma_vector": lambda: (do.ParabolicTrace(B), oracle.parabolic(B, D)),
    "sigma_number": lambda: (do.ParabolicTrace(0.5), oracle.parabolic(0.5, D)),
    "sigma_of_point": lambda: (do.ParabolicTrace(sigma_of), oracle.parabolic(sigma_of, D)),
    "sigma_matvec": lambda: (
        do.ParabolicTrace(do.operators.MatVec(lambda v: C @ v)),
        oracle.parabolic(C, D),
    ),
    "sigma_sparse": lambda: (
        do.ParabolicTrace(
            do.operators.SparseColumns(np.arange(D)[:, None], jnp.asarray(B)[:, None], D)
        ),
        oracle.parabolic(B, D),
    ),
    "sum": lambda: (
        jnp.array(2.0) * do.Laplacian()
        - do.SecondOrder(C) / 2
        + do.Mixed({0: 2, 1: 1})
        + do.Partial(1)
        - 3 * do.Identity(),
        2.0 * oracle.laplacian(D)
        + (-0.5) * oracle.second_order(C)
        + oracle.mixed(D, {0: 2, 1: 1})
        + oracle.partial(D, 1)
        + (-3.0) * oracle.identity(),
    ),
    "coefficient": lambda: (number_of * do.Laplacian(), number_of * oracle.laplacian(D)),
}


@functools.cache
def derivatives():
    return jax.jit(lambda x: oracle.derivatives(wave, (x,), 3))(point())


# The methods are given the same products: what forms these is tested with one of them.
CASES = [(name, "xtrace") for name in OPERATORS]
CASES += [(name, "hutch++") for name in ("laplacian_dims", "matrix", "sigma_of_point", "sum")]


@pytest.mark.parametrize(("name", "method"), CASES)
def test_unbiased(name, method):
    operator, reference = OPERATORS[name]()
    values = many(lambda key: operator.deflate(key, 4, method)(wave)(point()), KEYS)
    check_mean(values, reference.value(derivatives(), (point(),)))


ALL = (6, 0, 4, 1, 5, 2, 3)


@pytest.mark.parametrize(("dims", "method"), [(None, "xtrace"), (DIMS, "hutch++"), (ALL, "xtrace")])
def test_unbiased_divergence(dims, method):
    """With as many values as coordinates in another order, values are in this order."""
    places = jnp.array(dims or range(D))
    jacobian = jax.jacfwd(field)(point())
    exact = jnp.trace(jacobian[:, places] if dims is ALL else jacobian[jnp.ix_(places, places)])
    operator = -2.0 * do.Divergence(dims=dims)
    values = many(lambda key: operator.deflate(key, 5, method)(field)(point()), KEYS)
    check_mean(values, -2 * exact)


def test_trees_of_several_arguments():
    """Each value of u has a Hessian of its own, in the coordinates of a pytree."""
    pair = lambda x: (jnp.stack([wave(x), wave(-2 * x)]),)
    u = lambda t, p: {"a": wave(p["x"].ravel()) * p["s"], "b": pair(t * p["x"].ravel())}
    args = (jnp.array(2.0), {"x": point().reshape(D, 1), "s": jnp.array(0.5)})
    operator = do.Laplacian(argnum=1) + do.Partial(argnum=0)
    got = many(lambda key: operator.deflate(key, 6)(u)(*args), KEYS)
    exact = jax.jit(operator.exact(u))(*args)
    assert jax.tree.structure(got) == jax.tree.structure(exact)
    for values, expected in zip(*map(jax.tree.leaves, (got, exact)), strict=True):
        check_mean(values, expected)


def test_enumerated_probes_of_hutch_plus_plus():
    """All signs of the probe, for one sketch: their mean is the trace."""
    A = RNG.normal(size=(3, 3))
    probes = jnp.array(list(itertools.product([1.0, -1.0], repeat=3)))
    run = jax.jit(lambda sketch: hutch_plus_plus(products_with(A), sketch, probes))
    for seed in range(5):
        values = run(jr.normal(jr.key(seed), (1, 3)))
        np.testing.assert_allclose(jnp.mean(values), np.trace(A), rtol=1e-12)
        assert float(jnp.std(values)) > 1e-3


def naive_xtrace(A, tests):
    """A QR factorisation for each test vector that is left out."""
    m, size = tests.shape
    values = []
    for i in range(m):
        Q, _ = np.linalg.qr(A @ np.delete(tests, i, axis=0).T)
        rest = tests[i] - Q @ (Q.T @ tests[i])
        scale = (size - m + 1) / (rest @ rest)
        values.append(np.trace(Q.T @ A @ Q) + scale * rest @ A @ rest)
    return values


@pytest.mark.parametrize("m", [2, 3, 8])
def test_xtrace_is_leave_one_out(m):
    A, tests = RNG.normal(size=(20, 20)), RNG.normal(size=(m, 20))
    values = jax.jit(lambda tests: xtrace(products_with(A), tests))(jnp.asarray(tests))
    np.testing.assert_allclose(values, naive_xtrace(A, tests), rtol=1e-10)


# Where the large part is all there is


def of_rank(rank, size, dtype=np.float64):
    left, right = np.random.default_rng(rank).normal(size=(2, size, rank))
    return (left @ right.T + right @ left.T).astype(dtype)  # of rank 2·rank


@pytest.mark.parametrize("method", METHODS)
def test_low_rank_is_exact(method):
    n = 20
    D = do.Laplacian().deflate(jr.key(0), n, method)
    run = jax.jit(lambda A: D.stats(quadratic(A))(jnp.ones(40)))
    for half in (0, 1, 2):
        A = of_rank(half, 40)
        mean, error, jets = run(A)
        np.testing.assert_allclose(mean, np.trace(A), rtol=1e-10, atol=1e-10)
        assert float(error) <= 1e-10
        assert jets == n


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrices_with_few_entries(dtype, method):
    """Images are zero, or equal up to a factor, exactly: no factorisation may divide by zero."""
    D, x = do.Laplacian().deflate(jr.key(2), 62, method), jnp.ones(64, dtype)

    def value(s, A):
        mean, error, _ = D.stats(lambda x: s * quadratic(A)(x))(x)
        return mean, (mean, error)

    run, one = jax.jit(jax.grad(value, has_aux=True)), jnp.ones((), dtype)
    for entries in ([], [0], [3, 7], range(30)):
        A = np.zeros((64, 64), dtype)
        A[list(entries), list(entries)] = 2.0
        gradient, (mean, error) = run(one, A)
        assert mean.dtype == error.dtype == dtype
        if len(entries) < 20:  # the rank of both sketches at least
            tolerance = {"float32": 1e-4, "float64": 1e-11}[dtype]
            np.testing.assert_allclose(mean, np.trace(A), atol=tolerance, rtol=0)
            assert float(error) <= tolerance
        np.testing.assert_allclose(gradient, mean, rtol=1e-4, atol=1e-4)


def test_float32_of_decaying_spectrum():
    """Eigenvalues far below the precision: the trace to a few units in its last place."""
    A = decaying(0.3, np.float32)
    D = do.Laplacian().deflate(jr.key(2), 100)
    got = jax.jit(D(quadratic(A)))(jnp.ones(200, jnp.float32))
    np.testing.assert_allclose(got, np.trace(A.astype(float)), rtol=2e-5)


@pytest.mark.parametrize("method", METHODS)
def test_as_many_products_as_coordinates_are_exact(method):
    partial = do.Partial(0, order=3)

    @jax.jit
    def run(x):
        return (
            [L.exact(wave)(x) for L in (do.Laplacian(), partial)],
            do.Laplacian().deflate(jr.key(0), D, method).stats(wave)(x),
            partial.deflate(jr.key(0), 4, method).stats(wave)(x),
        )

    (laplacian, third), stats, alone = run(point())
    np.testing.assert_allclose(stats.value, laplacian, rtol=1e-12)
    assert float(stats.standard_error) == 0 and stats.jets == D
    np.testing.assert_allclose(alone.value, third, rtol=1e-12)
    assert float(alone.standard_error) == 0


# The variance


def decaying(base, dtype=np.float64, size=200):
    Q, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(size, size)))
    return ((Q * base ** np.arange(float(size))) @ Q.T).astype(dtype)


def test_less_variance_than_plain_probes():
    u, x, n = quadratic(decaying(0.8, size=100)), jnp.zeros(100), 45
    L = do.Laplacian()

    def draws(key):
        plain = L.estimate(key, n, probes="rademacher")
        return [E(u)(x) for E in (plain, *(L.deflate(key, n, method) for method in METHODS))]

    plain, *deflated = many(draws, 200)
    for values in deflated:
        assert np.var(plain) > 10 * np.var(values)


def test_standard_error_of_hutch_plus_plus():
    stats = lambda key: do.Laplacian().deflate(key, 6, "hutch++").stats(wave)(point())[:2]
    check_errors(*many(stats, 4000))


def test_standard_error_of_xtrace():
    """Not unbiased, but of the right size, as its authors find."""
    u, x = quadratic(decaying(0.9, size=100)), jnp.zeros(100)
    stats = many(lambda key: do.Laplacian().deflate(key, 40).stats(u)(x)[:2], 200)
    assert 0.5 < np.mean(stats[1]) / np.std(stats[0]) < 2


def test_errors_of_a_sum_add_up():
    """Parts have test vectors of their own; factors scale the error with the value."""
    scaled = {-2.0: -2.0 * do.Laplacian(), float(number_of(point())): number_of * do.Laplacian()}
    total = do.Laplacian() + do.SecondOrder(C) + do.Identity()
    run = lambda x: [
        L.deflate(jr.key(0), 4).stats(wave)(x) for L in (do.Laplacian(), total, *scaled.values())
    ]
    laplacian, whole, *parts = jax.jit(run)(point())
    for factor, part in zip(scaled, parts, strict=True):
        np.testing.assert_allclose(part.value, factor * laplacian.value, rtol=1e-12)
        np.testing.assert_allclose(part[1], abs(factor) * laplacian[1], rtol=1e-12)
    assert whole[1] > laplacian[1] and whole.jets == 8


# Transformations


def network(w, x):
    return jnp.sum(jnp.sin(w @ x))


@pytest.mark.parametrize("method", METHODS)
def test_gradients_are_unbiased(method):
    """With respect to parameters, of u and of the operator, and to the point."""

    def value(make):
        operator = lambda s: make(s * do.Laplacian() + do.ParabolicTrace(s * SIGMA))
        return lambda w, s, x: operator(s)(lambda x: network(w, x))(x)

    arguments = (jnp.asarray(W[:2]), jnp.array(0.5), point())
    exact = jax.jit(jax.grad(value(lambda L: L.exact), (0, 1, 2)))(*arguments)
    # The Hessian has rank 2: one sketched vector leaves half of it.
    sampled = lambda key: value(lambda L: L.deflate(key, 4, method))
    got = many(lambda key: jax.grad(sampled(key), (0, 1, 2))(*arguments), 4000)
    for values, expected in zip(got, exact, strict=True):
        check_mean(values, np.asarray(expected))


@pytest.mark.parametrize("method", METHODS)
def test_jit_vmap_and_pytrees(method):
    make = lambda key: do.Laplacian().deflate(key, 5, method)
    E, points = make(jr.key(3)), jr.normal(jr.key(4), (3, D))
    passed = eqx.filter_jit(lambda E, x: E(wave)(x))
    one = [passed(E, x) for x in points]
    np.testing.assert_allclose(jax.jit(jax.vmap(E(wave)))(points), one, rtol=1e-9)
    np.testing.assert_allclose(E(wave)(points[0]), one[0], rtol=1e-9)
    assert abs(float(one[0] - passed(make(jr.key(4)), points[0]))) > 1e-6
    np.testing.assert_allclose(passed(make(jr.PRNGKey(3)), points[0]), one[0], rtol=1e-12)


def test_half_precision():
    """The factorisations are made in single precision; the result has u's own type."""
    x = jnp.ones(20, jnp.bfloat16)
    got = jax.jit(do.Laplacian().deflate(jr.key(0), 8)(lambda x: jnp.sum(x[:2] ** 2)))(x)
    assert got.dtype == jnp.bfloat16 and float(got) == 4.0


# Bad input

KEY = jr.key(0)
L = do.Laplacian()


test_errors = refusals(
    {
        "xtrace needs at least n = 4.*got 3": lambda: L.deflate(KEY, 3),
        "at least n = 3.*got 2": lambda: L.deflate(KEY, 2, "hutch++"),
        "standard error.*n = 3.*n = 4": lambda: L.deflate(KEY, 3, "hutch++").stats(wave)(point()),
        "xtrace, hutch.*'lanczos'": lambda: L.deflate(KEY, 4, "lanczos"),
        "traces.*got Δ²": lambda: (L + do.Biharmonic()).deflate(KEY, 4),
        "traces.*got Σᵢ∂ᵢ³": lambda: do.DiagonalK(3).deflate(KEY, 4),
        "traces.*Δ": lambda: (L @ (number_of * L)).deflate(KEY, 4),
        "each of the 7 coordinates.*got 2": lambda: do.Divergence().deflate(KEY, 4)(
            lambda x: x[:2]
        )(point()),
    },
    {
        "integer.*4.0": lambda: L.deflate(KEY, 4.0),
        "JAX random key.*0 of type int": lambda: L.deflate(0, 4),
        "to compose operators write A @ B": lambda: L.deflate(KEY, 4)(L),
        "real u.*complex128": lambda: L.deflate(KEY, 4)(lambda x: jax.lax.complex(x[0], x[1]))(
            point()
        ),
        "argument 0 of type complex128": lambda: L.deflate(KEY, 4)(lambda x: jnp.sum(x).real)(
            point().astype(complex)
        ),
        "float.*int": lambda: L.deflate(KEY, 4)(wave)(jnp.arange(D)),
    },
)

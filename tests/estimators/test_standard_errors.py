"""Standard errors: SE² is the variance of the estimate, on average over the draws, and intervals
made from it hold what they promise.

By enumeration of all draws where there are few; else by z-tests at fixed keys.
"""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

import diffop as do
from diffop import probes
from diffop.probes import sampling

from ..draws import Z, alike, check_errors, many, over_all, signs, subsets

pytestmark = pytest.mark.usefixtures("x64")

D = 5
H = np.random.default_rng(0).normal(size=(D, D))
H = H + H.T
X = np.linspace(0.3, 1.2, D)
WEIGHTS = np.array([1.0, 3.0, 2.0, 0.5, 1.0])


def u(x):
    return 0.5 * x @ jnp.asarray(H) @ x + jnp.sum(x**4) * x[1] + x[0] ** 3 * x[2] * x[3]


def of_strata():
    """Two of three and two of two: every choice."""
    return alike([*a, 3, 4] for a in itertools.combinations(range(3), 2))


ENUMERATED = {
    "subset": (do.Laplacian(), 3, "sparse", sampling, "subset", lambda: subsets(D, 3)),
    "subset of entries": (do.DiagonalK(3), 2, "sparse", sampling, "subset", lambda: subsets(D, 2)),
    "strata": (do.Laplacian(), 4, "stratified", sampling, "stratified", of_strata),
    "split": (do.Laplacian(), 2, probes.Split([1, 4]), sampling, "subset", lambda: subsets(3, 2)),
    "signs": (
        *(do.Laplacian(), 2, "rademacher"),
        *(probes.Rademacher, "directions", lambda: signs(D, 2)),
    ),
}


def stats(operator, n, probe, function=u, x=X):
    """An estimate and its standard error, by its key."""
    found = lambda key: operator.estimate(key, n, probes=probe).stats(function)
    return lambda key: found(key)(jnp.asarray(x))[:2]


@pytest.mark.parametrize("name", ENUMERATED)
def test_variance_by_enumeration(monkeypatch, name):
    """The mean of SE² over all draws is the variance over all draws."""
    operator, n, probe, owner, source, outcomes = ENUMERATED[name]
    one = lambda: stats(operator, n, probe)(jr.key(0))
    (mean, error), p = over_all(monkeypatch, owner, source, outcomes(), one)
    variance = np.dot(p, mean**2) - np.dot(p, mean) ** 2
    assert variance > 1e-3
    np.testing.assert_allclose(np.dot(p, error**2), variance, rtol=1e-9)


C = np.diag([3.0, -1.0, 2.0, 0.5, 1.0]) + 0.5
SAMPLED = {
    "orthogonal": (do.Laplacian(), 3, "orthogonal"),
    "orthogonal matrix": (do.SecondOrder(jnp.asarray(C)), 4, "orthogonal"),
    "roots": (do.DiagonalK(3), 2, "roots"),
    "roots of two orders": (do.Laplacian() + do.DiagonalK(4), 3, "roots"),
    "single roots": (do.DiagonalK(3), 3, probes.Roots(antithetic=False)),
    "importance": (do.Laplacian(), 3, probes.Importance(WEIGHTS)),
    "importance of pairs": (do.Biharmonic(), 3, probes.Importance(WEIGHTS)),
    "importance of sums": (do.Laplacian() + do.DiagonalK(3), 3, probes.Importance(WEIGHTS)),
    "sums by weight": (do.Laplacian() + do.SecondOrder(jnp.diag(jnp.asarray(C))), 3, "sparse"),
    "shifted": (do.SecondOrder(jnp.asarray(C)), 3, "shifted"),
    "strata of sums": (do.Laplacian() - do.DiagonalK(3), 4, "stratified"),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_variance_by_sampling(name):
    check_errors(*many(stats(*SAMPLED[name]), 20_000))


# Intervals

LARGE = 400
NORMAL = np.random.default_rng(1).normal(2.0, 1.0, LARGE)
SIDE = 80
SYMMETRIC = np.random.default_rng(2).normal(size=(SIDE, SIDE))
SYMMETRIC = SYMMETRIC + SYMMETRIC.T
diagonal = lambda x: 0.5 * jnp.sum(jnp.asarray(NORMAL) * x**2)
quadratic = lambda x: 0.5 * x @ jnp.asarray(SYMMETRIC) @ x
INTERVALS = {
    "sparse": (diagonal, LARGE, NORMAL.sum(), "sparse"),
    "gaussian": (quadratic, SIDE, np.trace(SYMMETRIC), "gaussian"),
    "orthogonal": (quadratic, SIDE, np.trace(SYMMETRIC), "orthogonal"),
}


@pytest.mark.parametrize(("name", "n"), [*zip(INTERVALS, [4, 16, 64]), ("sparse", 64)])
def test_coverage(name, n):
    """Student's t with n − 1 degrees of freedom: intervals for 68 % and 95 % of 1000 draws hold the
    exact value as often as they say. Contributions are nearly normal here (normal terms; quadratic
    forms of many coordinates). A correct library fails each test with probability 1e-4.
    """
    function, size, exact, probe = INTERVALS[name]
    one = stats(do.Laplacian(), n, probe, function, np.ones(size))
    mean, error = many(one, 1000, seed=n)
    for level in (0.68, 0.95):
        half = scipy.stats.t.ppf((1 + level) / 2, n - 1) * error
        hits = int(np.sum(np.abs(mean - exact) <= half))
        assert scipy.stats.binomtest(hits, 1000, level).pvalue > 1e-4


# Where there is none

NONE = {
    "systematic": ("systematic", 4, "systematic draws have no unbiased standard error"),
    "one of each": (probes.Stratified(1), 4, "one draw from each stratum .* per_stratum=2"),
    "odd strata": (probes.Stratified(1), 3, "one draw from each stratum"),
    "one draw": ("orthogonal", 1, "at least 2 draws; got an estimate with n = 1"),
    "one root": ("roots", 1, "at least 2 draws"),
    "one of the others": (probes.Split([0]), 1, "at least 2 draws in each stratum"),
}


@pytest.mark.parametrize("name", NONE)
def test_no_standard_error(name):
    """The estimate is there; its standard error is refused."""
    probe, n, message = NONE[name]
    operator = do.DiagonalK(3) if probe == "roots" else do.Laplacian()
    E = operator.estimate(jr.key(0), n, probes=probe)
    assert jax.eval_shape(E(u), jnp.asarray(X)).shape == ()
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(E.stats(u), jnp.asarray(X))


def test_complex_outputs():
    """|z|² in the variance: real and imaginary parts add."""
    a, b = np.arange(1.0, 6.0), np.array([2.0, -1.0, 0.0, 3.0, 1.0])
    real = lambda x: jnp.sum(jnp.asarray(a) * x**2)
    imaginary = lambda x: jnp.sum(jnp.asarray(b) * x**2)
    E = do.Laplacian().estimate(jr.key(0), 3)
    both = lambda x: jax.lax.complex(real(x), imaginary(x))
    run = lambda x: [E.stats(f)(x).standard_error for f in (both, real, imaginary)]
    error, *parts = jax.jit(run)(jnp.asarray(X))
    np.testing.assert_allclose(error, np.hypot(*parts), rtol=1e-12)


# The variances that docstrings state

OFF = np.sum(H**2) - np.sum(np.diag(H) ** 2)
FORM = lambda x: 0.5 * x @ jnp.asarray(H) @ x
TERMS = np.diag(H)
S = lambda terms: np.var(terms, ddof=1) if len(terms) > 1 else 0.0
SPHERE = 2 * D / (D + 2) * (np.sum(H**2) - np.trace(H) ** 2 / D)
P = WEIGHTS / WEIGHTS.sum()
STATED = {
    "rademacher": ("rademacher", 1, 2 * OFF),
    "gaussian": ("gaussian", 1, 2 * np.sum(H**2)),
    "spherical": ("spherical", 1, SPHERE),
    "orthogonal": ("orthogonal", 3, SPHERE / 3 * (D - 3) / (D - 1)),
    "sparse": ("sparse", 2, D**2 / 2 * (1 - 2 / D) * S(TERMS)),
    "stratified": ("stratified", 4, 9 / 2 * (1 - 2 / 3) * S(TERMS[:3])),
    "one of each": (probes.Stratified(1), 2, 9 * 2 / 3 * S(TERMS[:3]) + 4 / 2 * S(TERMS[3:])),
    "split": (probes.Split([0, 2]), 2, 9 / 2 * (1 - 2 / 3) * S(TERMS[[1, 3, 4]])),
    "importance": (probes.Importance(WEIGHTS), 3, (TERMS**2 @ (1 / P) - TERMS.sum() ** 2) / 3),
    "roots": ("roots", 1, 2 * OFF),
}


def check_variance(values, stated):
    """The variance of values is the stated one; its own standard error from fourth moments."""
    squares = (values - values.mean()) ** 2
    error = squares.std() / np.sqrt(len(values))
    assert abs(squares.mean() - stated) <= Z * error
    assert Z * error <= 0.15 * stated


def estimates(operator, function, n, probe):
    one = lambda key: operator.estimate(key, n, probes=probe)(function)(jnp.asarray(X))
    return many(one, 20_000, seed=3)


@pytest.mark.parametrize("name", STATED)
def test_stated_variance(name):
    probe, n, stated = STATED[name]
    check_variance(estimates(do.Laplacian(), FORM, n, probe), stated)


@pytest.mark.parametrize(("antithetic", "n"), [(False, 3), (True, 1)])
def test_antithetic_roots_halve_the_variance(antithetic, n):
    """At three jets each, for x_i² x_j with pairs {i, j} that have no coordinate in common: one
    draw of v_i² v_j ∂_i²∂_j/2, three times in (v·∇)³, has the variance (3/2)² 2² 12 a² per jet.
    """
    a = np.array([1.0, 0.7])
    function = lambda x: a[0] * x[0] ** 2 * x[1] + a[1] * x[2] ** 2 * x[3]
    single = 1.5**2 * 2**2 * 12 * np.sum(a**2) / 3
    values = estimates(do.DiagonalK(3), function, n, probes.Roots(antithetic))
    check_variance(values, single / 2 if antithetic else single)


def test_where_nothing_varies_the_error_has_no_slope():
    """Random signs see only Σ ∂ᵢ²."""
    L, key, x = do.Laplacian(), jr.key(0), jnp.asarray(X)

    def error(a):
        return L.estimate(key, 3, "rademacher").stats(lambda x: a * jnp.sum(x**4))(x)[1]

    assert error(1.0) == jax.grad(error)(1.0) == 0

    def spread(a):
        found = do.variance(L, n=3, probes="rademacher")(lambda x: a * jnp.sum(x**4))(x)
        return found.standard_error

    assert spread(1.0) == jax.grad(spread)(1.0) == 0


E = do.Laplacian().estimate(jr.key(0), 4)
OF_ANY_SIZE = {
    "draws of terms": E.stats,
    "of some terms": do.Laplacian().estimate(jr.key(0), 2, probes.Split([1, 4])).stats,
    "of strata": do.Laplacian().estimate(jr.key(0), 4, "stratified").stats,
    "signs": do.Laplacian().estimate(jr.key(0), 4, "rademacher").stats,
    "of several sources": (E + do.Laplacian().estimate(jr.key(1), 2, "gaussian")).stats,
    "joint": do.estimate([do.Laplacian()], jr.key(0), 4).stats,
    "a function of them": lambda u: (
        lambda x: (
            do.estimate(do.Laplacian(), jr.key(0), 4)
            .draws(u)(x)
            .of(lambda value: 2 * value)
            .stats()
        )
    ),
    "deflated": do.Laplacian().deflate(jr.key(0), 4).stats,
    "with a control": lambda u: (
        do.Laplacian().estimate(jr.key(0), 4, "gaussian").controlled(u, scale=0.5).stats(u)
    ),
    "with a fitted control": lambda u: (
        do.Laplacian()
        .estimate(jr.key(0), 4, "gaussian")
        .controlled(lambda x: u(x[::-1]), scale="fitted")
        .stats(u)
    ),
    "to an accuracy": do.Laplacian().estimate_to(
        jr.key(0), rtol=0.1, probes="gaussian", max_n=4000, batch=4
    ),
    "to an accuracy, of orthogonal directions": do.Laplacian().estimate_to(
        jr.key(0), rtol=0.1, probes="orthogonal", max_n=400, batch=4
    ),
}


@pytest.mark.parametrize("name", OF_ANY_SIZE)
def test_errors_whose_squares_are_out_of_range(name):
    """Estimates of c u are c times those of u, and take as many draws, in single precision too."""
    x, weights = jnp.asarray(X, jnp.float32), jnp.float32(H)
    function = lambda x: x @ weights @ x + jnp.sum(x**4) * x[1]
    of_size = jax.jit(lambda size: OF_ANY_SIZE[name](lambda x: size * function(x))(x))
    once = of_size(jnp.float32(1))
    assert jax.tree.leaves(once.standard_error)[0] > 0
    for size in (1e-27, 1e27):
        found = of_size(jnp.float32(size))
        for a, b in zip(jax.tree.leaves(found[:2]), jax.tree.leaves(once[:2]), strict=True):
            np.testing.assert_allclose(np.float64(a), size * np.float64(b), rtol=1e-4)
        assert found[2:] == once[2:]

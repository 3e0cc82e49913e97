"""Estimates: which draws there are, what they share, and how they behave as operators.

`test_unbiased.py` has the statistics over every operator and probe.
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats

import diffop as do

from ..draws import check_errors, check_mean, many as over_keys
from ..functions import (
    COMPLEX,
    FIELD,
    SCALAR,
    SPACE_AND_TIME,
    TREE_OUTPUT,
    expected_values,
    relative_error,
)
from ..operators import table
from ..together import Together

pytestmark = pytest.mark.usefixtures("x64")

LEVEL = 1e-5  # of each statistical test here: the chance that a correct library fails it
D = 5
A = 4.0 ** np.arange(D)  # subset sums of powers of 4 tell which subset it was


def separable(x):
    """Its Hessian is diag(A) everywhere."""
    return 0.5 * jnp.sum(jnp.asarray(A) * x**2)


def subset(estimate, n: int) -> tuple[int, ...]:
    """Which n coordinates a sparse estimate of Δ drew, each weighted d/n: with multiplicity."""
    digits = np.base_repr(round(float(estimate) * n / D), base=4)[::-1]
    return tuple(i for i, digit in enumerate(digits) for _ in range(int(digit)))


def many(operator, u, x, n, count, **kwargs):
    return over_keys(lambda key: operator.estimate(key, n, **kwargs)(u)(x), count)


# What a draw is


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_sparse_draws_all_subsets_equally_often(n):
    """Without replacement: d/n Σ_{i∈S} ∂_i², S uniform over the subsets of size n."""
    values = many(do.Laplacian(), separable, jnp.ones(D), n, 2000)
    drawn = [subset(value, n) for value in values]
    every = list(itertools.combinations(range(D), n))
    assert set(drawn) == set(every)
    counts = [drawn.count(s) for s in every]
    assert scipy.stats.chisquare(counts).pvalue > LEVEL
    # Enumerated, the draws average to the exact value: unbiased.
    enumerated = [D / n * A[list(s)].sum() for s in every]
    np.testing.assert_allclose(np.unique(values.round(6)), np.unique(np.round(enumerated, 6)))
    np.testing.assert_allclose(np.mean(enumerated), A.sum())


def test_rademacher_draws_all_signs_equally_often():
    """With one draw, u = ½ xᵀHx gives vᵀHv, v ∈ {±1}³: all four values up to sign of v."""
    H = np.array([[1.0, 0.5, -2.0], [0.5, 3.0, 4.0], [-2.0, 4.0, -1.0]])
    form = lambda x: 0.5 * x @ jnp.asarray(H) @ x
    values = many(do.Laplacian(), form, jnp.zeros(3), 1, 2000, probes="rademacher")
    every = [v @ H @ v for v in np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1]])]
    counts = [int(np.sum(np.abs(values - e) < 1e-9)) for e in every]
    assert sum(counts) == len(values)
    assert scipy.stats.chisquare(counts).pvalue > LEVEL
    np.testing.assert_allclose(np.mean(every), np.trace(H))


def test_sphere_directions_have_length_sqrt_d():
    """u = ½|x|²: v·v = d for every draw on the sphere."""
    values = many(
        do.Laplacian(), lambda x: 0.5 * jnp.sum(x**2), jnp.zeros(D), 1, 50, probes="spherical"
    )
    np.testing.assert_allclose(values, D, rtol=1e-12)
    values = many(do.Laplacian(), lambda x: x[0] ** 2, jnp.zeros(D), 1, 50, probes="spherical")
    assert len(np.unique(values)) == 50


def test_gaussian_directions():
    """u = x_0² gives 2 v_0², v_0 standard normal."""
    values = many(do.Laplacian(), lambda x: x[0] ** 2, jnp.zeros(D), 1, 1000, probes="gaussian")
    assert scipy.stats.kstest(values / 2, scipy.stats.chi2(1).cdf).pvalue > LEVEL


def test_unequal_weights_are_drawn_in_proportion():
    """SecondOrder(diag c): term i with probability |c_i| / Z, weighted Z sign(c_i)."""
    c = np.array([1.0, -2.0, 4.0, 1.0])
    u = lambda x: 0.5 * jnp.sum(jnp.arange(1.0, 5.0) * x**2)
    values = many(do.SecondOrder(jnp.asarray(c)), u, jnp.zeros(4), 1, 4000)
    every = 8.0 * np.sign(c) * np.arange(1.0, 5.0)
    counts = [int(np.sum(np.abs(values - e) < 1e-9)) for e in every]
    assert sum(counts) == len(values)
    assert scipy.stats.chisquare(counts, np.abs(c) / 8 * len(values)).pvalue > LEVEL
    np.testing.assert_allclose(every @ np.abs(c) / 8, c @ np.arange(1.0, 5.0))


def test_biharmonic_terms_are_unordered_pairs():
    """One draw gives one ∂_i²∂_j²: d(d+1)/2 = 6 different values, whose mean is the exact one."""
    a = np.array([[1.0, 3.0, 9.0], [0.0, 27.0, 81.0], [0.0, 0.0, 243.0]])
    u = lambda x: jnp.sum(jnp.asarray(a) * jnp.outer(x**2, x**2))
    x = jnp.ones(3)
    values = many(do.Biharmonic(), u, x, 1, 1000)
    distinct = np.unique(values.round(6))
    assert len(distinct) == 6
    check_mean(values, float(jax.jit(do.Biharmonic().exact(u))(x)))


# What n means


SAMPLED = tuple(case for case in table.operators() if case.name != "second_order_matvec")


def with_all_terms(case):
    estimate = case.operator("float64").estimate(jr.key(0), 60)
    return jax.vmap(estimate(SCALAR[1].model("float64")))


WITH_ALL_TERMS = Together(SAMPLED, with_all_terms)


@pytest.mark.parametrize("case", SAMPLED, ids=str)
def test_all_terms_drawn_is_exact(case):
    got = WITH_ALL_TERMS(case, *SCALAR[1].points("float64"))
    expected = expected_values(SAMPLED, SCALAR[1], "float64")[case.name]
    assert relative_error(got, expected) <= 1e-10


def test_n_equal_to_d_is_the_exact_laplacian():
    x = jnp.arange(1.0, 8.0)
    u = lambda x: jnp.sum(x**3) * x[0]
    seven, six = (do.Laplacian().estimate(jr.key(0), n) for n in (7, 6))
    ops = {"exact": do.Laplacian().exact, "seven": seven, "six": six}
    got = jax.jit(lambda x: {name: method(u)(x) for name, method in ops.items()})(x)
    np.testing.assert_allclose(got["seven"], got["exact"], rtol=1e-13)
    assert abs(float(got["six"] - got["exact"])) > 1e-3


ALWAYS_EXACT = {
    "identity": do.Identity,
    "mixed": lambda: do.Mixed({0: 2, 1: 1}),
    "partial": lambda: do.Partial(2, order=3),
    "directional": lambda: do.Directional(jnp.arange(3.0)),
    "directional_of_point": lambda: do.Directional(table.vector_of),
    "sum": lambda: do.Identity() + do.Partial(0) - 2 * do.Mixed({0: 1, 1: 1}),
}


@pytest.mark.parametrize("name", ALWAYS_EXACT)
def test_one_draw_of_a_single_term_is_exact(name):
    operator = ALWAYS_EXACT[name]()
    model, (points,) = SCALAR[1].model("float64"), SCALAR[1].points("float64")
    both = lambda x: (operator.estimate(jr.key(3), 1)(model)(x), operator.exact(model)(x))
    got, expected = jax.jit(jax.vmap(both))(points)
    assert relative_error(got, expected) <= 1e-12


def test_each_homogeneous_part_gets_n_draws():
    """∂_t is exact beside a sampled Δ, and Δ + ∂_0⁴ draws Δ as Δ alone does."""
    u = lambda x, t: separable(x) + x[0] ** 4 + 1e6 * t
    x, t, key = jnp.ones(D), jnp.array(0.5), jr.key(4)
    L = do.Laplacian()
    operators = L, do.Partial(argnum=1) + L, L + do.Partial(0, order=4)
    every = jax.jit(lambda x, t: [each.estimate(key, 2)(u)(x, t) for each in operators])
    laplacian, with_time, with_fourth = map(float, every(x, t))
    np.testing.assert_allclose(with_time, 1e6 + laplacian, rtol=1e-12)
    np.testing.assert_allclose(with_fourth, 24.0 + laplacian, rtol=1e-12)


def test_auto_is_sparse():
    x = jnp.arange(1.0, 1.0 + D)
    sparse = do.Laplacian().estimate(jr.key(2), 2, probes="sparse")(separable)(x)
    assert do.Laplacian().estimate(jr.key(2), 2)(separable)(x) == sparse
    assert do.Laplacian().estimate(jr.key(2), 2, probes="auto")(separable)(x) == sparse


# The same draw


PROBES = ["sparse", "rademacher", "gaussian", "spherical"]


@pytest.mark.parametrize("probes", PROBES)
def test_same_draw_at_every_point_and_for_every_function(probes):
    """The Hessian of `quadratic` is constant: only another draw could change the value."""
    H = jr.normal(jr.key(0), (D, D))
    quadratic = lambda x: x @ H @ x
    E = do.Laplacian().estimate(jr.key(9), 2, probes=probes)
    points = jr.normal(jr.key(1), (4, D))
    one = jax.jit(E(quadratic))(points[0])
    assert abs(float(one - 2 * jnp.trace(H))) > 1e-3
    np.testing.assert_allclose(jax.jit(jax.vmap(E(quadratic)))(points), one, rtol=1e-10)
    triple = jax.jit(E(lambda x: 3.0 * quadratic(x)))(points[1])
    np.testing.assert_allclose(triple, 3 * one, rtol=1e-10)
    other = do.Laplacian().estimate(jr.key(10), 2, probes=probes)(quadratic)
    other = jax.jit(other)(points[0])
    assert abs(float(one - other)) > 1e-6


@pytest.mark.parametrize("probes", PROBES)
def test_keys_of_their_own_under_vmap(probes):
    H = jr.normal(jr.key(0), (D, D))
    quadratic = lambda x: x @ H @ x
    keys, points = jr.split(jr.key(5), 4), jr.normal(jr.key(1), (4, D))
    one = jax.jit(lambda key, x: do.Laplacian().estimate(key, 2, probes=probes)(quadratic)(x))
    got = jax.jit(jax.vmap(one))(keys, points)
    np.testing.assert_allclose(
        got, [one(k, x) for k, x in zip(keys, points, strict=True)], rtol=1e-10
    )
    assert len(np.unique(np.asarray(got).round(8))) > 1


def test_do_estimate_shares_one_draw():
    ops = {
        "lap": do.Laplacian(),
        "pair": (2 * do.Laplacian(), do.Laplacian()),
        "u": do.Identity(),
        "t": do.Partial(argnum=1),
    }
    u = lambda x, t: separable(x) * t
    key, x, t = jr.key(3), jnp.arange(1.0, 1.0 + D), jnp.array(2.0)
    got, alone = jax.jit(
        lambda *args: (
            do.estimate(ops, key, 2)(u)(*args),
            do.Laplacian().estimate(key, 2)(u)(*args),
        )
    )(x, t)
    assert jax.tree.structure(got) == jax.tree.structure({"lap": 0, "pair": (0, 0), "u": 0, "t": 0})
    np.testing.assert_allclose(got["pair"][1], got["lap"], rtol=1e-14)
    np.testing.assert_allclose(got["pair"][0], 2 * got["lap"], rtol=1e-14)
    np.testing.assert_allclose(got["u"], u(x, t), rtol=1e-14)
    np.testing.assert_allclose(got["t"], separable(x), rtol=1e-14)
    np.testing.assert_allclose(got["lap"], alone, rtol=1e-14)


def test_laplacian_and_diagonal_share_coordinates():
    """Both sum over coordinates with equal weights: Δ and Σ∂_i⁴ use the same ones."""
    u = lambda x: separable(x) + jnp.sum(jnp.asarray(A) * x**4) / 24
    ops = {"lap": do.Laplacian(), "fourth": do.DiagonalK(4)}
    estimate = jax.jit(lambda key: do.estimate(ops, key, 2)(u)(jnp.zeros(D)))
    for seed in range(5):
        got = estimate(jr.key(seed))
        np.testing.assert_allclose(got["fourth"], got["lap"], rtol=1e-12)
        assert len(subset(got["lap"], 2)) == 2


def test_do_exact_of_a_pytree():
    function = SPACE_AND_TIME
    ops = [{"u": do.Identity(), "t": do.Partial(argnum=1)}, (do.Laplacian(), do.Biharmonic())]
    model, points = function.model("float64"), function.points("float64")
    got = jax.jit(jax.vmap(do.exact(ops)(model)))(*points)
    D0, D1, D2, _, D4 = function.derivatives("float64")
    H = D2[..., :3, :3]
    bi = jnp.einsum("...iijj->...", D4[..., :3, :3, :3, :3])
    expected = [{"u": D0, "t": D1[..., 3]}, (jnp.trace(H, axis1=-2, axis2=-1), bi)]
    assert relative_error(got, expected) <= 1e-10


def test_do_exact_with_operators_of_different_output_shapes():
    model, (points,) = FIELD.model("float64"), FIELD.points("float64")
    ops = {"div": do.Divergence(), "lap": do.Laplacian(), "grad": do.Gradient()}
    got = jax.jit(jax.vmap(do.exact(ops)(model)))(points)
    _, D1, D2 = FIELD.derivatives("float64")[:3]
    expected = {
        "div": jnp.trace(D1, axis1=-2, axis2=-1),
        "lap": jnp.trace(D2, axis1=-2, axis2=-1),
        "grad": D1,
    }
    assert relative_error(got, expected) <= 1e-10


# Estimates as operators


def test_exact_of_an_estimate_is_itself():
    E = do.Laplacian().estimate(jr.key(0), 2)
    assert E.exact is E


def test_estimates_add_and_scale():
    x = jnp.arange(1.0, 1.0 + D)
    u = lambda x: separable(x) * x[0] ** 2
    E = do.Laplacian().estimate(jr.key(0), 2)
    F = do.Laplacian().estimate(jr.key(1), 3, probes="gaussian")
    P = do.Partial(0)
    combinations = [
        (E + F, lambda e, f, p: e + f),
        (E - F, lambda e, f, p: e - f),
        (2 * E, lambda e, f, p: 2 * e),
        (E * jnp.array(3.0), lambda e, f, p: 3 * e),
        (E / 4, lambda e, f, p: e / 4),
        (-E, lambda e, f, p: -e),
        (sum([E, E, F]), lambda e, f, p: 2 * e + f),
        (E + P, lambda e, f, p: e + p),
        (P - 2 * F, lambda e, f, p: p - 2 * f),
    ]
    each, got = jax.jit(
        lambda x: ([A.exact(u)(x) for A in (E, F, P)], [A.exact(u)(x) for A, _ in combinations])
    )(x)
    assert abs(each[0] - each[1]) > 1e-3
    np.testing.assert_allclose(got, [value(*each) for _, value in combinations], rtol=1e-12)


def test_the_average_over_every_draw_is_exact():
    """Enumeration as an operator: the D estimates with one draw, summed and divided by D."""
    every = {}
    value = jax.jit(lambda key: do.Laplacian().estimate(key, 1)(separable)(jnp.zeros(D)))
    for seed in range(60):
        every[subset(value(jr.key(seed)), 1)] = do.Laplacian().estimate(jr.key(seed), 1)
        if len(every) == D:
            break
    u, x = lambda x: jnp.prod(jnp.sin(x)), jnp.arange(1.0, 1.0 + D)
    average = sum(every.values()) / D
    got, expected = jax.jit(lambda x: (average.exact(u)(x), do.Laplacian().exact(u)(x)))(x)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "combine", [lambda E, L: E @ E, lambda E, L: E**2, lambda E, L: L @ E, lambda E, L: E @ L]
)
def test_estimates_do_not_compose(combine):
    L = do.Laplacian()
    with pytest.raises((TypeError, ValueError), match="(?i)compose"):
        combine(L.estimate(jr.key(0), 2), L)


@pytest.mark.parametrize(
    ("function", "probes"), list(zip([COMPLEX, TREE_OUTPUT] * 2, PROBES)), ids=str
)
def test_outputs_of_every_kind(function, probes):
    """Linear in u: the estimate of a tree is the tree of estimates; so for real and imaginary."""
    model, (points,) = function.model("float64"), function.points("float64")
    E = do.Laplacian().estimate(jr.key(0), 2, probes=probes)
    shape = jax.eval_shape(model, points[0])
    parts = list(itertools.product(range(len(jax.tree.leaves(shape))), (jnp.real, jnp.imag)))

    def alone(i, part):
        return E(lambda x: part(jax.tree.leaves(model(x))[i]))

    every = jax.jit(lambda x: (E(model)(x), [alone(i, part)(x) for i, part in parts]))
    got, expected = every(points[0])
    for (i, part), value in zip(parts, expected, strict=True):
        leaf = jax.tree.leaves(got)[i]
        np.testing.assert_allclose(part(leaf), value, rtol=1e-10, atol=1e-12)
    assert jax.tree.structure(got) == jax.tree.structure(shape)


@pytest.mark.parametrize("probes", PROBES)
def test_transformations_of_an_estimate(probes):
    """jit, and the gradient through parameters: of the same weighted sum of Hessian entries."""
    E = do.Laplacian().estimate(jr.key(6), 2, probes=probes)
    w = jr.normal(jr.key(2), (3, 3))
    x = jnp.array([0.5, -0.25, 1.0])
    u = lambda w: lambda x: jnp.sum(jnp.sin(w @ x))
    value = lambda w: E(u(w))(x)
    np.testing.assert_allclose(jax.jit(value)(w), value(w), rtol=1e-12)

    # The draw's second moment M, read off from the quadratics x_i x_j: E u = tr(M Hess u).
    pairs = lambda x: [[E(lambda x: x[i] * x[j])(x) for j in range(3)] for i in range(3)]
    M = jnp.array(jax.jit(pairs)(x)) / 2
    reference = lambda w: jnp.sum(M * jax.hessian(u(w))(x))
    got, expected = (jax.jit(jax.value_and_grad(f))(w) for f in (value, reference))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_float32_stays_float32():
    x, u = jnp.ones(4, jnp.float32), lambda x: jnp.sum(x**4)
    estimates = [do.Laplacian().estimate(jr.key(0), 2, probes=probes) for probes in PROBES]
    for got in jax.jit(lambda x: [E(u)(x) for E in estimates])(x):
        assert got.dtype == jnp.float32


def test_estimates_are_pytrees():
    """An estimate passes through jit, and a batch of them through vmap."""
    x = jnp.arange(1.0, 1.0 + D)
    E = do.Laplacian().estimate(jr.key(0), 2)
    apply = eqx.filter_jit(lambda E, x: E(separable)(x))
    np.testing.assert_allclose(apply(E, x), E(separable)(x), rtol=1e-14)


def test_old_style_keys_work():
    x = jnp.arange(1.0, 1.0 + D)
    new = do.Laplacian().estimate(jr.key(7), 2)(separable)(x)
    assert do.Laplacian().estimate(jr.PRNGKey(7), 2)(separable)(x) == new


def test_a_million_dimensions():
    d = 1_000_000
    u = lambda x: jnp.sum(x**3)
    x = jnp.linspace(0.0, 1.0, d)
    values = jax.jit(lambda x: do.Laplacian().estimate(jr.key(0), 16).stats(u)(x))(x)
    exact = 6 * d / 2
    assert abs(float(values[0]) - exact) <= 5 * float(values[1])
    assert 0 < float(values[1]) < exact


# The standard error


@pytest.mark.parametrize("probes", ["gaussian", "spherical"])
def test_standard_error_squared_is_the_variance_on_average(probes):
    """Of other draws it is by enumeration: `test_standard_errors.py`."""
    H = jr.normal(jr.key(0), (D, D))
    u = lambda x: x @ H @ x + jnp.sum(x**3)
    x = jnp.linspace(0.5, 1.5, D)
    stats = lambda key: do.Laplacian().estimate(key, 3, probes=probes).stats(u)(x)[:2]
    check_errors(*over_keys(stats, 4000))


@pytest.mark.parametrize("probes", PROBES)
def test_stats_begin_with_the_estimate(probes):
    x = jnp.arange(1.0, 1.0 + D)
    u = lambda x: separable(x) * x[1]
    E = do.Laplacian().estimate(jr.key(0), 3, probes=probes)
    (mean, error, *_), alone = jax.jit(lambda x: (E.stats(u)(x), E(u)(x)))(x)
    np.testing.assert_allclose(mean, alone, rtol=1e-12)
    assert float(error) > 0


def test_stats_count_jets():
    x = jnp.arange(1.0, 1.0 + D)
    assert int(do.Laplacian().estimate(jr.key(0), 3).stats(separable)(x).jets) == 3
    assert int(do.Laplacian().estimate(jr.key(0), 50).stats(separable)(x).jets) == D


def test_an_exact_part_has_no_standard_error():
    x = jnp.arange(1.0, 1.0 + D)
    cases = [(do.Laplacian(), D), (do.Mixed({0: 1, 1: 1}), 1), (do.Partial(0), 1)]
    stats = lambda x: [L.estimate(jr.key(0), n).stats(separable)(x) for L, n in cases]
    for each in jax.jit(stats)(x):
        assert float(each[1]) == 0.0


def test_stats_of_values_that_are_not_as_those_of_u():
    """The divergence of a vector is a number, the gradient of a number a vector."""
    x = jnp.arange(1.0, 1.0 + D)
    estimate = do.Divergence().estimate(jr.key(0), 3)
    square = lambda x: x**2
    (mean, error, _), alone = jax.jit(lambda x: (estimate.stats(square)(x), estimate(square)(x)))(x)
    np.testing.assert_allclose(mean, alone, rtol=1e-12)
    assert error.shape == () and float(error) > 0
    assert do.Gradient().estimate(jr.key(0), 3).stats(separable)(x).value.shape == (D,)


def test_roots_of_different_orders_are_drawn_independently(monkeypatch):
    """Their variances are added, so what is drawn for one order must not follow from another's."""
    keys = []

    def numbers(self, key, n, size, k):
        keys.append(tuple(jr.key_data(key).tolist()))
        return jnp.zeros((n, size), int)

    monkeypatch.setattr(do.probes.Roots, "numbers", numbers)
    operator = do.Laplacian() + do.DiagonalK(3) + do.DiagonalK(4)
    operator.estimate(jr.key(0), 2, probes="roots")(separable)(jnp.ones(D))
    assert len(keys) == len(set(keys)) == 3

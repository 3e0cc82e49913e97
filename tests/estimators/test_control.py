"""Control variates, and weights that are learnt from the draws."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop import probes
from diffop.estimators.control import _slopes
from diffop.probes import sampling

from ..draws import over_all, signs, subsets

pytestmark = pytest.mark.usefixtures("x64")

D = 5
X = np.linspace(0.3, 1.2, D)


def u(x):
    return jnp.sum(x**4) * x[1] + x[0] ** 3 * x[2]


def g(x):
    return jnp.sum(x**4 * jnp.arange(1.0, x.size + 1)) + x[0] * x[2] ** 2


SOURCES = {
    "subsets": ("sparse", sampling, "subset", lambda: subsets(D, 2)),
    "signs": ("rademacher", probes.Rademacher, "directions", lambda: signs(D, 2)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_over_all_draws(monkeypatch, name):
    """For s = 1 and 2: unbiased, equal to E(u) − s E(g) + s L g, with L g computed or given; the
    mean of SE² is the variance.
    """
    probe, owner, source, outcomes = SOURCES[name]
    L, x = do.Laplacian(), jnp.asarray(X)

    def every():
        E = L.estimate(jr.key(0), 2, probes=probe)
        known = L.exact(g)(x)
        parts = E(u)(x), E(g)(x), known
        given = E.controlled(g, lambda x: known, 2.0)(u)(x)
        return parts, [E.controlled(g, scale=s).stats(u)(x)[:2] for s in (1.0, 2.0)], given

    (parts, controlled, given), p = over_all(monkeypatch, owner, source, outcomes(), every)
    exact = float(jax.jit(L.exact(u))(x))
    for s, (mean, error) in zip((1, 2), controlled, strict=True):
        np.testing.assert_allclose(mean, parts[0] - s * parts[1] + s * parts[2], rtol=1e-10)
        np.testing.assert_allclose(p @ mean, exact, rtol=1e-10)
        variance = p @ (mean - exact) ** 2
        assert variance > 1e-3
        np.testing.assert_allclose(p @ error**2, variance, rtol=1e-9)
    np.testing.assert_allclose(given, controlled[1][0], rtol=1e-10)


def test_fitted_is_unbiased(monkeypatch):
    """Over all outcomes of four independent sign vectors, where slopes differ from draw to draw."""
    x, L = jnp.asarray(X[:3]), do.Laplacian()
    h = lambda x: x[0] ** 3 * x[1] + 2 * x[1] ** 2 * x[2]

    single = [(1.0, *v) for v in itertools.product([-1.0, 1.0], repeat=2)]
    outcomes = [([np.array(rows)], 4.0**-4) for rows in itertools.product(single, repeat=4)]

    def both():
        E = L.estimate(jr.key(0), 4, probes=Four())
        return E(h)(x), E.controlled(g, scale="fitted")(h)(x)

    (plain, fitted), p = over_all(monkeypatch, Four, "directions", outcomes, both)
    exact = float(jax.jit(L.exact(h))(x))
    np.testing.assert_allclose([p @ plain, p @ fitted], exact, rtol=1e-10)
    assert p @ (fitted - exact) ** 2 > 1e-3 and np.max(np.abs(fitted - plain)) > 1e-3


class Four(probes.AbstractDenseProbe):
    """Sign vectors, also where all terms are not more than the draws."""

    name = "four"

    def reaches(self, target):
        return target.kind == "trace"

    def is_exhaustive(self, factors, point, n):
        return False

    def directions(self):
        raise NotImplementedError  # the test's

    def draw(self, key, n, size, dtype, target):
        return probes.Drawn(self.directions(), np.full(n, 1 / n), (probes.Stratum(n),))


@pytest.mark.parametrize("scale", [-1.7, "fitted"])
def test_a_multiple_of_the_control_has_no_variance(scale):
    """Also with several outputs, an exact part and a traced scale."""
    operator = do.Laplacian() + do.Partial(0)
    control = lambda x: {"a": g(x), "b": jnp.stack([x[1] ** 3, jnp.prod(x)])}
    multiple = lambda x: jax.tree.map(lambda y: -1.7 * y, control(x))

    def both(x, s):
        E = operator.estimate(jr.key(0), 4, probes="gaussian")
        found = E.controlled(control, scale="fitted" if scale == "fitted" else s).stats(multiple)(x)
        return found[:2], operator.exact(multiple)(x), E.stats(multiple)(x).standard_error

    (mean, error), exact, plain = jax.jit(both)(jnp.asarray(X), jnp.asarray(-1.7))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), mean, exact)
    for own, without in zip(jax.tree.leaves(error), jax.tree.leaves(plain), strict=True):
        assert np.all(own <= 1e-7 * without)


def traced(function):
    """Checks of the number of draws need no numbers."""
    return jax.eval_shape(function, jnp.asarray(X))


def test_fitted_needs_four_draws_of_one_sum():
    E = do.Laplacian().estimate(jr.key(0), 3)
    with pytest.raises(ValueError, match="at least 4 draws; got 3"):
        traced(E.controlled(g, scale="fitted")(u))
    both = do.Laplacian().estimate(jr.key(0), 4) + do.Laplacian().estimate(jr.key(1), 4)
    with pytest.raises(ValueError, match="has 2. Give a number"):
        traced(both.controlled(g, scale="fitted")(u))
    assert traced(both.controlled(g, scale=1.0)(u)).shape == ()
    split = do.Laplacian().estimate(jr.key(0), 4, probes.Split((0,)))
    with pytest.raises(ValueError, match="come from 2 strata. Give a number"):
        jax.eval_shape(split.controlled(g, scale="fitted")(u), jnp.ones(9))


def test_fitted_is_exact_where_all_terms_are_taken():
    x, L = jnp.asarray(X), do.Laplacian()
    value, error, _ = L.estimate(jr.key(0), D).controlled(g, scale="fitted").stats(u)(x)
    np.testing.assert_allclose(value, jnp.trace(jax.hessian(u)(x)), rtol=1e-12)
    assert error == 0


# Weights that are learnt

QUARTIC = np.array([100.0, 3.0, 1.0, 30.0, 10.0])


def learnt(operator, function, x, terms, n=2, steps=60):
    """The memory after some steps, carried through a loop."""

    def step(memory, key):
        E = operator.estimate(key, n, probes=memory.probe())
        return E.observe(memory)(function)(x), E(function)(x)

    memory = probes.RunningMagnitudes(terms)
    return jax.jit(lambda keys: jax.lax.scan(step, memory, keys))(jr.split(jr.key(0), steps))


@pytest.mark.parametrize("dims", [None, (4, 0, 3)])
def test_magnitudes_are_learnt(dims):
    """Those of 12 a_i x_i², in the order of the terms; a term's observation is exact."""
    numbers = list(range(D) if dims is None else dims)
    function = lambda x: jnp.asarray(QUARTIC) @ x**4
    memory, values = learnt(do.Laplacian(dims=dims), function, jnp.asarray(X), len(numbers))
    terms = (12 * QUARTIC * X**2)[numbers]
    assert memory.seen.all()
    np.testing.assert_allclose(memory.means, terms, rtol=1e-5)
    expected = terms + 0.1 * terms.mean()
    np.testing.assert_allclose(memory.probe().weights, expected, rtol=1e-5)
    late = np.abs(np.asarray(values)[-20:] - terms.sum())
    assert late.max() < 0.6 * terms.sum()  # p_i ≥ t_i/(1.1 T): no draw exceeds 1.1 T


def test_magnitudes_of_several_outputs():
    """The root of the sum of squares over all of them."""
    function = lambda x: {"a": 3 * x**4, "b": 4 * jnp.sum(x**4)}
    memory, _ = learnt(do.Laplacian(), function, jnp.asarray(X), D)
    np.testing.assert_allclose(memory.means, 5 * 12 * X**2, rtol=1e-5)


def test_terms_that_were_not_seen_count_as_an_average_one():
    memory = probes.RunningMagnitudes(4, decay=0.75, floor=0.5)
    np.testing.assert_array_equal(memory.probe().weights, 1.5)
    memory = memory.observe(jnp.array([2, 0]), jnp.array([2.0, 6.0]))
    np.testing.assert_allclose(memory.probe().weights, [8.0, 6.0, 4.0, 6.0])
    memory = memory.observe(jnp.array([2, 2]), jnp.array([6.0, 6.0]))  # twice counts once
    np.testing.assert_allclose(memory.means, [6.0, 0.0, 3.0, 0.0])
    np.testing.assert_array_equal(memory.seen, [True, False, True, False])


def test_terms_that_vanish_are_still_drawn():
    memory = probes.RunningMagnitudes(3).observe(jnp.arange(3), jnp.zeros(3))
    assert np.all(np.asarray(memory.probe().weights) > 0)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_magnitudes_that_are_not_finite_are_not_learnt(wrong):
    """One point at which u is not finite does not end the estimates of all later steps."""
    memory = probes.RunningMagnitudes(4).observe(jnp.arange(3), jnp.array([2.0, 6.0, 4.0]))
    after = memory.observe(jnp.array([1, 2, 3]), jnp.array([wrong, 8.0, wrong]))
    np.testing.assert_array_equal(after.means, [2.0, 6.0, 6.0, 0.0])
    np.testing.assert_array_equal(after.seen, [True, True, True, False])


def test_magnitudes_near_the_end_of_the_range_are_learnt():
    """Neither their sum nor their squares are in the range of single precision."""
    scale = 1e37
    function = lambda x: {"a": scale * x**4 / 12, "b": scale * x**4 / 12}
    memory, _ = learnt(do.Laplacian(), function, jnp.asarray(X, jnp.float32), D)
    np.testing.assert_allclose(memory.means, np.sqrt(2) * scale * X**2, rtol=1e-5)
    many = probes.RunningMagnitudes(100).observe(jnp.arange(100), jnp.full(100, 1e37))
    np.testing.assert_allclose(many.probe().weights, 1.1e37, rtol=1e-5)


def test_nothing_is_learnt_from_what_is_exact():
    memory = probes.RunningMagnitudes(D)
    E = do.Laplacian().estimate(jr.key(0), D, probes=memory.probe())
    assert E.observe(memory)(u)(jnp.asarray(X)) is memory


@pytest.mark.parametrize(
    "kwargs", [{"terms": 0}, {"decay": 1.0}, {"decay": -0.1}, {"floor": 0.0}, {"floor": -1.0}]
)
def test_numbers_that_are_refused(kwargs):
    with pytest.raises(ValueError, match=f"{next(iter(kwargs))} of RunningMagnitudes"):
        probes.RunningMagnitudes(**{"terms": 3, **kwargs})


IMPORTANCE = lambda terms: probes.Importance(np.ones(terms))
UNOBSERVABLE = {
    "another number of terms": (
        lambda: do.Laplacian(dims=(0, 1, 2)).estimate(jr.key(0), 2, IMPORTANCE(3)),
        f"as many terms as the probe has weights, 3; got one of {D}",
    ),
    "other probes": (lambda: do.Laplacian().estimate(jr.key(0), 2), "got one by sparse probes"),
    "two sums": (
        lambda: (do.Laplacian() + do.DiagonalK(3)).estimate(jr.key(0), 2, IMPORTANCE(D)),
        "2 terms",
    ),
    "tuples": (lambda: do.Biharmonic().estimate(jr.key(0), 2, IMPORTANCE(D)), "other directions"),
    "other directions": (
        lambda: do.ParabolicTrace(jnp.eye(D)).estimate(jr.key(0), 2, IMPORTANCE(D)),
        "other directions",
    ),
    "entries": (
        lambda: do.SecondOrder(jnp.ones((D, D))).estimate(jr.key(0), 2, IMPORTANCE(D * D)),
        "other directions",
    ),
}


@pytest.mark.parametrize("name", UNOBSERVABLE)
def test_what_cannot_be_observed(name):
    make, message = UNOBSERVABLE[name]
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(make().observe(probes.RunningMagnitudes(D))(u), jnp.asarray(X))


def test_fitted_scales_are_complex():
    """With a u that is a complex multiple of the control nothing is left; of a control that is not
    alike, each draw has the least squares of the others.
    """
    x, slope = jnp.asarray(X), 2.0 - 1.5j
    turned = lambda f: lambda x: jax.lax.complex(slope.real * f(x), slope.imag * f(x))
    E = do.Laplacian().estimate(jr.key(0), 4, "gaussian")
    exact, mean, error = jax.jit(
        lambda x: (
            do.Laplacian().exact(turned(g))(x),
            *E.controlled(g, scale="fitted").stats(turned(g))(x)[:2],
        )
    )(x)
    np.testing.assert_allclose(mean, exact, rtol=1e-10)
    assert error <= 1e-10 * abs(exact)

    rng = np.random.default_rng(0)
    z, c = (rng.normal(size=5) + 1j * rng.normal(size=5) for _ in range(2))
    for r in range(5):
        a, b = np.delete(z, r), np.delete(c, r)
        best = np.linalg.lstsq((b - b.mean())[:, None], a - a.mean(), rcond=None)[0][0]
        np.testing.assert_allclose(_slopes(jnp.asarray(z), jnp.asarray(c))[r], best, rtol=1e-10)


DIVERGENCES = {
    "divergence": (do.Divergence(), lambda x: x**4 * x[0], lambda x: x**4),
    "matrix": (do.DivergenceForm(lambda x: jnp.diag(x) + jnp.ones((D, D))), u, g),
    "scalar": (do.DivergenceForm(lambda x: 1 + x[0] ** 2), u, g),
}


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences_are_controlled(name):
    """E(u) + s (L g − E(g)), and the standard error of E(u − s g)."""
    operator, first, second = DIVERGENCES[name]
    x, E = jnp.asarray(X), operator.estimate(jr.key(0), 3)
    both = lambda x: first(x) - 0.5 * second(x)
    got, *expected = jax.jit(
        lambda x: (
            E.controlled(second, scale=0.5).stats(first)(x)[:2],
            E(first)(x) + 0.5 * (operator.exact(second)(x) - E(second)(x)),
            E.stats(both)(x).standard_error,
        )
    )(x)
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    fitted = jax.jit(
        operator.estimate(jr.key(0), 4).controlled(second, scale="fitted").stats(first)
    )
    assert fitted(x).value.shape == ()

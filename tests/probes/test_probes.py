"""Probes: what they refuse, their gradients, and a million dimensions.

`test_enumeration.py` shows that they are unbiased, `estimators/test_standard_errors.py` how
large their errors are.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import diffop as do
from diffop import probes

from ..draws import check_mean, many
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

D = 4
X = np.array([0.3, -0.5, 0.8, 0.1])
SYMMETRIC = np.diag([2.0, -1.0, 0.5, 1.0]) + 0.3
u = lambda x: jnp.exp(x @ jnp.array([0.9, -0.4, 0.6, 0.7])) + x[0] ** 2 * x[1] * x[3]


def estimate(operator, probe, n=2):
    return operator.estimate(jr.key(0), n, probes=probe)


def value(operator, probe, n=2):
    return estimate(operator, probe, n)(u)(jnp.asarray(X))


class Narrow(probes.AbstractDenseProbe):
    """Directions and weights of given shapes, whatever is asked for."""

    shape: tuple[int, ...]
    weights: tuple[int, ...]
    name = "narrow"

    def reaches(self, target):
        return target.kind == "trace"

    def draw(self, key, n, size, dtype, target):
        return probes.Drawn(np.ones(self.shape), np.ones(self.weights), (probes.Stratum(n),))


class Numbered(probes.AbstractTermProbe):
    """Always the same terms."""

    numbers: tuple[int, ...]
    name = "numbered"

    def select(self, key, total, n):
        weights = np.full(len(self.numbers), total / n)
        return probes.Selection(np.array(self.numbers), weights, (probes.Stratum(n),))


class Chosen(Numbered):
    """Terms whose numbers are arrays."""

    numbers: jax.Array

    def select(self, key, total, n):
        return probes.Selection(self.numbers, jnp.full(n, total / n), (probes.Stratum(n),))


MATRIX = do.SecondOrder(jnp.asarray(SYMMETRIC))
MATVEC = do.SecondOrder(do.operators.MatVec(lambda v: jnp.asarray(SYMMETRIC) @ v))

CHOSEN = {
    "name": (do.Laplacian(), "uniform", "one of .*rademacher.*orthogonal.*Importance.*'uniform'"),
    "roots of a power": (do.Biharmonic(), "roots", "roots .* Δ².*: sparse, gaussian, spherical"),
    "gaussian diagonal": (do.DiagonalK(3), "gaussian", "sparse, stratified, systematic, roots"),
    "orthogonal power": (do.Biharmonic(), "orthogonal", "orthogonal .*sparse, gaussian, spherical"),
    "strata of a power": (
        do.Biharmonic(),
        "stratified",
        "stratified .*sparse, gaussian, spherical",
    ),
    "split power": (do.Biharmonic(), probes.Split([0]), "split probes are biased"),
    "shifted laplacian": (do.Laplacian(), "shifted", "shifted .*rademacher"),
    "part of a sum": (do.Laplacian() + do.Biharmonic(), "orthogonal", "orthogonal .* Δ²"),
    "roots of mixed": (do.Laplacian() @ do.DiagonalK(3), "roots", "roots .*: sparse"),
}
USED = {
    "too few weights": (do.Laplacian(), probes.Importance([1.0, 2.0]), "each of the 4 .*got 2"),
    "weights of rows": (MATRIX, probes.Importance(np.ones(D)), "each of the 16 terms .*got 4"),
    "zero weight": (do.Laplacian(), probes.Importance([1, 0, 1, 1]), "positive.*0 at number 1"),
    "zero entry": (MATRIX, probes.Importance(np.eye(D)), "positive .*got 0 at number 1"),
    "split": (do.Laplacian(), probes.Split([7]), "names term 7, but there are only 4"),
    "all of a split": (do.Laplacian(), probes.Split([0, 1, 7]), "names term 7, but there are only"),
    "shift": (MATRIX, probes.Shifted(0.5), "more than minus the least eigenvalue.*got 0.5"),
    "shift of a function": (
        do.SecondOrder(lambda x: jnp.asarray(SYMMETRIC)),
        probes.Shifted(0.5),
        "more than minus the least eigenvalue",
    ),
    "own, narrow": (do.Laplacian(), Narrow((2, 3), (2,)), r"directions \(m, 4\).*got .*\(2, 3\)"),
    "own, one": (do.Laplacian(), Narrow((4,), (2,)), r"directions \(m, 4\).*got .*\(4,\)"),
    "own, weights": (do.Laplacian(), Narrow((2, 4), (1,)), r"weights \(m,\); .*weights \(1,\)"),
    "own number": (do.Laplacian(), Numbered((1, 4)), "terms 0 … 3; got the number 4"),
    "own negative number": (do.Laplacian(), Numbered((-1, 2)), "terms 0 … 3; got the number -1"),
    "products": (MATVEC, "shifted", 'known by its products alone; use probes="rademacher"'),
}


Running: Any = probes.RunningMagnitudes
test_refused_when_made = refusals(
    {
        "not negative; got -2 at number 1": lambda: probes.Importance([1.0, -2.0]),
        "finite .*; got nan at number 1": lambda: probes.Importance([1.0, np.nan]),
        "finite .*; got inf at number 0": lambda: probes.Importance([np.inf]),
        "at least 1; got 0": lambda: probes.Stratified(0),
        r"different numbers .* got \[1, 1\]": lambda: probes.Split([1, 1]),
        r"counted from 0; got \[-1\]": lambda: probes.Split([-1]),
        r"different numbers of terms, .* got 1\.": lambda: probes.Split(1),
        r"counted from 0; got \(True, 0\)": lambda: probes.Split((True, 0)),
        "at least 1; got True": lambda: probes.Stratified(True),
        "shift of Shifted must be finite": lambda: probes.Shifted(np.inf),
    },
    {"terms of RunningMagnitudes must be an integer; got 3.5": lambda: Running(3.5)},
)


@pytest.mark.parametrize("name", CHOSEN)
def test_refused_when_chosen(name):
    operator, probe, message = CHOSEN[name]
    with pytest.raises(ValueError, match=message):
        estimate(operator, probe)


@pytest.mark.parametrize("name", USED)
def test_refused_when_used(name):
    operator, probe, message = USED[name]
    with pytest.raises(ValueError, match=message):
        value(operator, probe)


@pytest.mark.parametrize("probe", [3, None, np.ones(4), probes.Rademacher])
def test_probes_of_a_wrong_type(probe):
    with pytest.raises(TypeError, match="probes must be one of"):
        probes.as_probe(probe)


TRACED = {
    "laplacian": (do.Laplacian(), [[1.0, bad, 1.0, 1.0] for bad in (0.0, -1.0, np.nan)]),
    "negative without a term": (do.SecondOrder(jnp.eye(D)), [np.eye(D) - 0.1 * np.eye(D, k=1)]),
}


@pytest.mark.parametrize("name", TRACED)
def test_traced_weights_are_checked(name):
    operator, refused = TRACED[name]
    run = eqx.filter_jit(lambda w: value(operator, probes.Importance(w)))
    assert np.isfinite(run(jnp.asarray(np.eye(D) if np.ndim(refused[0]) == 2 else np.ones(D))))
    for weights in refused:
        with pytest.raises(Exception, match="weights of Importance must be positive and finite"):
            jax.block_until_ready(run(jnp.asarray(weights)))


@pytest.mark.parametrize("numbers", [(1, 4), (-1, 2)])
def test_traced_numbers_of_terms_are_checked(numbers):
    run = eqx.filter_jit(lambda probe: value(do.Laplacian(), probe))
    good, bad = Chosen(jnp.array([3, 0])), Chosen(jnp.array(numbers))
    assert np.isfinite(run(good))
    with pytest.raises(Exception, match="must select among the terms 0 … 3; got others"):
        jax.block_until_ready(run(bad))


def test_a_traced_matrix_is_checked_for_its_shift():
    run = eqx.filter_jit(lambda C: value(do.SecondOrder(C), probes.Shifted(1.0)))
    assert np.isfinite(run(jnp.eye(D)))
    with pytest.raises(Exception, match="more than minus the least eigenvalue"):
        jax.block_until_ready(run(-2 * jnp.eye(D)))


# Gradients


def test_gradient_through_a_shifted_matrix():
    """Finite at C = I, whose eigenvalues repeat, and that of central differences."""
    run = jax.jit(lambda C: value(do.SecondOrder(C), probes.Shifted(3.0)))
    gradient = jax.jit(jax.grad(run))
    for C in (np.eye(D), SYMMETRIC):
        got = np.asarray(gradient(jnp.asarray(C)))
        for i, j in [(0, 0), (1, 2), (3, 1)]:
            step = np.zeros((D, D))
            step[i, j] = 1e-5
            expected = (run(jnp.asarray(C + step)) - run(jnp.asarray(C - step))) / 2e-5
            np.testing.assert_allclose(got[i, j], expected, rtol=1e-6)


def test_gradient_with_the_default_shift():
    """The shift is chosen from C, and no gradient flows into it: its mean has no part in it."""
    one = lambda C, key: do.SecondOrder(C).estimate(key, 3, probes="shifted")(u)(jnp.asarray(X))
    gradients = many(lambda key: jax.grad(one)(jnp.eye(D), key), 4000)
    check_mean(gradients, np.asarray(jax.jit(jax.hessian(u))(jnp.asarray(X))))


def test_no_gradient_into_weights():
    run = lambda w: value(do.Laplacian(), probes.Importance(w))
    np.testing.assert_array_equal(jax.jit(jax.grad(run))(jnp.arange(1.0, 5.0)), 0.0)


# A million dimensions

MILLION = 10**6
LARGE = {
    "stratified": (do.Laplacian(), "stratified", 64, True),
    "one of each": (do.Laplacian(), probes.Stratified(1), 64, False),
    "systematic": (do.Laplacian(), "systematic", 64, False),
    "split": (do.Laplacian(), probes.Split([0, 999_999]), 64, True),
    "orthogonal": (do.Laplacian(), "orthogonal", 8, True),
    "roots": (do.DiagonalK(3), "roots", 2, False),
}


def rising(x):
    """∂_i² and ∂_i³ are i/d times eˣ."""
    return jnp.sum(jnp.linspace(0.0, 1.0, MILLION, dtype=x.dtype) * jnp.exp(x))


@pytest.mark.parametrize("name", LARGE)
def test_a_million_dimensions(name):
    """Σ_i i/d = d/2: within 5 standard errors, or within 2 % (roots are exact for pure powers)."""
    operator, probe, n, has_error = LARGE[name]
    E = operator.estimate(jr.key(1), n, probes=probe)
    x = jnp.zeros(MILLION, jnp.float32)
    if has_error:
        mean, error, _ = jax.jit(E.stats(rising))(x)
        assert 0 < error < 0.25 * MILLION
        assert abs(mean - MILLION / 2) <= 5 * error
    else:
        np.testing.assert_allclose(jax.jit(E(rising))(x), MILLION / 2, rtol=0.02)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("probe", [probes.Spherical(), probes.Orthogonal()])
def test_lengths_in_half_precision(probe, dtype):
    """Each direction has the length √d. The squares of so many entries are beyond float16's range,
    and there is no QR decomposition in either type.
    """
    directions = probe.directions(jr.key(0), 3, 70_000, jnp.dtype(dtype))
    assert directions.dtype == dtype
    lengths = np.linalg.norm(np.asarray(directions, np.float64), axis=1)
    np.testing.assert_allclose(lengths, np.sqrt(70_000), rtol=1e-4)
    value = do.Laplacian().estimate(jr.key(0), 3, probe)(lambda x: x @ x)(jnp.ones(8, dtype))
    np.testing.assert_allclose(value, 16, rtol=0.02)


FORM = do.SecondOrder(jnp.asarray(SYMMETRIC))


@pytest.mark.parametrize(
    ("operator", "probe"),
    [
        *(
            (FORM, each)
            for each in ("rademacher", "gaussian", "spherical", "orthogonal", "shifted")
        ),
        *((do.Biharmonic(), each) for each in ("gaussian", "spherical")),
    ],
)
def test_directions_are_real_at_complex_points(operator, probe):
    """The estimate of f + ig for real f and g is that of f, plus i times that of g, where the
    derivatives are the same at every point: those of forms of the operator's order.
    """
    forms = [jr.normal(jr.key(seed), (D, D)) for seed in (1, 2)]
    power = operator.order // 2
    real = [lambda x, form=form: (x @ form.astype(x.dtype) @ x) ** power for form in forms]
    both = lambda x: real[0](x) + jnp.asarray(1j, x.dtype) * real[1](x)
    E = estimate(operator, probe)
    parts = [np.asarray(E(each)(jnp.asarray(X))) for each in real]
    got = E(both)(jnp.asarray(X + 1j * X[::-1]))
    np.testing.assert_allclose(got, parts[0] + 1j * parts[1], rtol=1e-12)


class Typed(probes.AbstractDenseProbe):
    name = "typed"

    def reaches(self, target):
        return target.kind == "trace"

    def draw(self, key, n, size, dtype, target):
        assert dtype == np.float64
        ones = jnp.ones((n, size), dtype)
        return probes.Drawn(ones, np.full(n, 1 / n), (probes.Stratum(n),))


def test_probes_of_users_are_asked_for_real_directions():
    got = estimate(do.Laplacian(), Typed())(lambda z: z @ z)(jnp.asarray(X + 1j))
    np.testing.assert_allclose(got, 2 * D)


def test_a_million_weights():
    """p proportional to the terms: no variance."""

    def run(weights, x):
        function = lambda x: jnp.sum(weights * jnp.exp(x))
        probe = probes.Importance(weights)
        return do.Laplacian().estimate(jr.key(0), 8, probes=probe).stats(function)(x)

    mean, error, jets = jax.jit(run)(jnp.linspace(1.0, 2.0, MILLION), jnp.zeros(MILLION))
    np.testing.assert_allclose(mean, 1.5 * MILLION, rtol=1e-9)
    assert error <= 1e-6 * MILLION
    assert jets == 8


def test_weights_of_a_jax_array_inside_jit():
    """They are known there, and are checked as outside."""
    weights, negative, x = jnp.arange(1.0, 6.0), -jnp.ones(5), jnp.ones(5)

    def estimate(key):
        probe = probes.Importance(weights)
        return do.Laplacian().estimate(key, 3, probes=probe)(lambda x: jnp.sum(x**4))(x)

    key = jax.random.key(0)
    np.testing.assert_allclose(jax.jit(estimate)(key), estimate(key), rtol=1e-6)
    with pytest.raises(ValueError, match="not negative; got -1 at number 0"):
        jax.jit(lambda: probes.Importance(negative).weights)()


class SmallNumbers(probes.AbstractTermProbe):
    """Three terms, whose numbers are of a small type."""

    kind: str = eqx.field(static=True)
    name = "small numbers"

    def select(self, key, total, n):
        numbers = jnp.array([2, 100, 3], self.kind)
        return probes.Selection(numbers, jnp.full(3, total / 3), (probes.Stratum(3, total),))


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32"])
def test_numbers_of_any_integers(kind):
    """There may be more terms than numbers of their type."""
    x = jnp.arange(300.0)
    of_point = do.Laplacian().estimate(jr.key(0), 3, SmallNumbers(kind))(lambda x: jnp.sum(x**3))
    for method in (of_point, eqx.filter_jit(of_point)):
        assert method(x) == pytest.approx(100 * 6 * (2 + 100 + 3))


class Turned(probes.AbstractDenseProbe):
    """Random signs; the probe has an array that does not enter them."""

    part: Any
    name = "turned"

    def reaches(self, target):
        return target.kind == "trace"

    def draw(self, key, n, size, dtype, target):
        signs = jr.rademacher(key, (n, size), dtype)
        return probes.Drawn(signs, np.full(n, 1 / n), (probes.Stratum(n),))


@pytest.mark.parametrize("kind", [jr.key, lambda seed: 1j * seed, lambda seed: np.array(seed > 0)])
def test_draws_of_probes_that_differ_in_an_array_are_independent(kind):
    """An array of any type, such as a key or complex numbers."""
    along = lambda seed: value(do.Laplacian(), Turned(kind(seed)))
    assert along(0) == along(0) and along(0) != along(1)

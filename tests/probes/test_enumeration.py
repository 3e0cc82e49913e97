"""Estimators are unbiased: the mean over *all* draws, weighted by their probabilities, is exact.

The random sources of the library (`sampling.subset`, `stratified`, `uniform`, `weighted`, and those
of dense probes) are replaced by every outcome that they can have; the oracle gives the value that
the mean must have. What these sources themselves return is proved in `test_sampling.py`.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop import probes
from diffop.probes import sampling

from .. import oracle
from ..draws import alike, over_all, signs, subsets, tuples, weighted_draws
from ..waves import Waves

pytestmark = pytest.mark.usefixtures("x64")

D = 3
X = np.array([0.4, -0.7, 1.1])
B = np.array([0.5, -1.5, 2.0])
SYMMETRIC = np.array([[2.0, -1.0, 0.5], [-1.0, -3.0, 1.5], [0.5, 1.5, 0.25]])
SKEWED = np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 0.5], [3.0, -2.0, -1.0]])
SIGMA = np.array([[1.0, 0.5], [0.0, -2.0], [1.5, 1.0]])


u = Waves(D)
field = Waves(D, outputs=(D,))


def value_of(reference, function, x=X):
    """What the mean must be, from derivatives in closed form."""
    return reference.value(function.derivatives(x, reference.order), (jnp.asarray(x),))


def mean_over(monkeypatch, name, outcomes, operator, n, function, kind="sparse") -> float:
    """E over the outcomes of one source."""
    owner = sampling if hasattr(sampling, name) else type(probes.as_probe(kind))
    estimate = operator.estimate(jax.random.key(0), n, probes=kind)(function)
    values, p = over_all(monkeypatch, owner, name, outcomes, lambda: estimate(jnp.asarray(X)))
    return float(p @ values)


WITHOUT_REPLACEMENT = {
    "laplacian": (do.Laplacian(), oracle.laplacian(D), u),
    "diagonal3": (do.DiagonalK(3), oracle.diagonal(D, 3), u),
    "diagonal4": (do.DiagonalK(4), oracle.diagonal(D, 4), u),
    "divergence": (do.Divergence(), oracle.divergence(D), field),
    "parabolic_vector": (do.ParabolicTrace(jnp.array(B)), oracle.parabolic(B, D), u),
    "matvec": (
        do.SecondOrder(do.operators.MatVec(lambda v: SKEWED @ v)),
        oracle.second_order(SKEWED),
        u,
    ),
    "callable": (do.SecondOrder(lambda x: jnp.array(SYMMETRIC)), oracle.second_order(SYMMETRIC), u),
    "equal_weights": (
        do.TensorOperator([{0: 1, 1: 1}, {1: 1, 2: 1}, {0: 1, 2: 1}], [2.0, -2.0, 2.0]),
        oracle.terms(D, [{0: 1, 1: 1}, {1: 1, 2: 1}, {0: 1, 2: 1}], [2.0, -2.0, 2.0]),
        u,
    ),
}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", WITHOUT_REPLACEMENT)
def test_subsets(monkeypatch, name, n):
    operator, reference, function = WITHOUT_REPLACEMENT[name]
    got = mean_over(monkeypatch, "subset", subsets(D, n), operator, n, function)
    np.testing.assert_allclose(got, value_of(reference, function), rtol=1e-11)


@pytest.mark.parametrize(("power", "n"), [(2, 1), (2, 2), (3, 1)])
def test_independent_copies(monkeypatch, power, n):
    """Δ^m from ordered tuples of coordinates."""
    operator = do.PolyLaplacian(power)
    got = mean_over(monkeypatch, "uniform", tuples(D, n, power), operator, n, u)
    expected = value_of(oracle.polylaplacian(D, power), u)
    np.testing.assert_allclose(got, expected, rtol=1e-11)


ENTRIES = {"symmetric": SYMMETRIC, "skewed": SKEWED, "sparse": np.diag([0.0, 2.0, 0.0])}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", ENTRIES)
def test_entries_by_magnitude(monkeypatch, name, n):
    C = ENTRIES[name]
    outcomes = weighted_draws(np.ravel((C + C.T) / 2), n)
    got = mean_over(monkeypatch, "weighted", outcomes, do.SecondOrder(jnp.array(C)), n, u)
    np.testing.assert_allclose(got, value_of(oracle.second_order(C), u), rtol=1e-11)


@pytest.mark.parametrize("n", [1, 2])
def test_terms_by_magnitude(monkeypatch, n):
    alphas, c = [{0: 2, 1: 1}, {1: 2, 2: 1}, {2: 2, 0: 1}], [1.0, -3.0, 0.5]
    got = mean_over(
        monkeypatch, "weighted", weighted_draws(c, n), do.TensorOperator(alphas, c), n, u
    )
    np.testing.assert_allclose(got, value_of(oracle.terms(D, alphas, c), u), rtol=1e-11)


RADEMACHER = {
    "laplacian": (do.Laplacian(), oracle.laplacian(D), u, D),
    "divergence": (do.Divergence(), oracle.divergence(D), field, D),
    "skewed": (do.SecondOrder(jnp.array(SKEWED)), oracle.second_order(SKEWED), u, D),
    "diagonal": (do.SecondOrder(jnp.array(B)), oracle.second_order(np.diag(B)), u, D),
    "matvec": (
        do.SecondOrder(do.operators.MatVec(lambda v: SKEWED @ v)),
        oracle.second_order(SKEWED),
        u,
        D,
    ),
    "parabolic": (do.ParabolicTrace(jnp.array(SIGMA)), oracle.parabolic(SIGMA, D), u, 2),
    "dims": (do.Laplacian(dims=(0, 2)), oracle.laplacian(D, dims=(0, 2)), u, 2),
}


@pytest.mark.parametrize("name", RADEMACHER)
def test_rademacher_signs(monkeypatch, name):
    operator, reference, function, size = RADEMACHER[name]
    outcomes = signs(size, 1)
    got = mean_over(monkeypatch, "directions", outcomes, operator, 1, function, kind="rademacher")
    np.testing.assert_allclose(got, value_of(reference, function), rtol=1e-11)


def hermite(size):
    """Gauss-Hermite nodes and weights: exact for Gaussian moments up to degree 11."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    weights = weights / weights.sum()
    for index in itertools.product(range(6), repeat=size):
        point = nodes[list(index)]
        yield [jnp.array(point)[None]], float(np.prod(weights[list(index)]))


@pytest.mark.parametrize("power", [1, 2, 3])
def test_gaussian_moments(monkeypatch, power):
    """E[(v·∇)^{2m}]/(2m−1)!! = Δ^m, the expectation by a quadrature that is exact for it."""
    got = mean_over(
        monkeypatch, "directions", hermite(D), do.PolyLaplacian(power), 1, u, kind="gaussian"
    )
    expected = value_of(oracle.polylaplacian(D, power), u)
    np.testing.assert_allclose(got, expected, rtol=1e-10)


@pytest.mark.parametrize("power", [1, 2])
def test_sphere_moments(monkeypatch, power):
    """A spherical design of degree 5 (the icosahedron) stands for the uniform sphere."""
    phi = (1 + 5**0.5) / 2
    corners = [(0, a, b * phi) for a in (-1, 1) for b in (-1, 1)]
    points = [np.roll(corner, shift) for corner in corners for shift in range(3)]
    outcomes = alike(np.sqrt(D) * p[None] / np.linalg.norm(p) for p in points)
    got = mean_over(
        monkeypatch, "directions", outcomes, do.PolyLaplacian(power), 1, u, kind="sphere"
    )
    expected = value_of(oracle.polylaplacian(D, power), u)
    np.testing.assert_allclose(got, expected, rtol=1e-11)

"""Every probe is unbiased for what it claims: the mean over *all* its draws is the exact value.

As in `test_enumeration.py`, whose functions and operators these are: a random source is replaced by
every outcome it can have, and an oracle gives the mean. Sources: the roots' numbers, the draws
within strata, the first of a systematic draw, subsets of what `Split` leaves, independent numbers,
a group of orthogonal frames, and Gaussian directions by a quadrature that is exact for them.
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
from ..draws import Z, alike, many, over_all, subsets, weighted_draws
from ..waves import Waves
from .test_enumeration import (
    SIGMA,
    SKEWED,
    SYMMETRIC,
    WITHOUT_REPLACEMENT,
    B,
    X,
    field,
    hermite,
    u,
    value_of,
)

pytestmark = pytest.mark.usefixtures("x64")

D = 3
BIHARMONIC = (do.Biharmonic(), oracle.polylaplacian(D, 2), u)
DIAGONAL5 = (do.DiagonalK(5), oracle.diagonal(D, 5), u)
PRODUCT = (
    do.Laplacian() @ do.Partial(1),
    oracle.terms(D, [{0: 2, 1: 1}, {1: 3}, {2: 2, 1: 1}], [1.0] * 3),
    u,
)
TERMWISE = {**WITHOUT_REPLACEMENT, "diagonal5": DIAGONAL5, "product": PRODUCT}
for _name, _sigma in {"matrix": SIGMA, "number": 0.5}.items():
    TERMWISE[f"parabolic_{_name}"] = (
        do.ParabolicTrace(jnp.array(_sigma)),
        oracle.parabolic(_sigma, D),
        u,
    )


def check(monkeypatch, owner, name, outcomes, case, n, probe, x=X):
    """The mean over outcomes is the operator's value."""
    operator, reference, function = case
    estimate = operator.estimate(jax.random.key(0), n, probes=probe)(function)
    estimates, p = over_all(monkeypatch, owner, name, outcomes, lambda: estimate(jnp.asarray(x)))
    assert np.ptp(estimates) > 1e-8  # something was drawn
    np.testing.assert_allclose(p @ estimates, value_of(reference, function, x), rtol=1e-10)


# Roots of unity


def roots(k, size):
    return alike(np.array(row)[None] for row in itertools.product(range(k), repeat=size))


ANTITHETIC = [(k, True) for k in (2, 3, 4, 5)] + [(3, False), (4, False)]


@pytest.mark.parametrize(("k", "antithetic"), ANTITHETIC)
def test_roots(monkeypatch, k, antithetic):
    """All k^d draws of roots: Σ_i ∂_i^k, with the k real jets of a draw or one of them."""
    operator = do.Laplacian() if k == 2 else do.DiagonalK(k)
    case = (operator, oracle.diagonal(D, k), u)
    probe = probes.Roots(antithetic=antithetic)
    check(monkeypatch, probes.Roots, "numbers", roots(k, D), case, 1, probe)


@pytest.mark.parametrize("k", [3, 4])
def test_roots_in_chosen_coordinates(monkeypatch, k):
    case = (do.DiagonalK(k, dims=(0, 2)), oracle.diagonal(D, k, (0, 2)), u)
    check(monkeypatch, probes.Roots, "numbers", roots(k, 2), case, 1, "roots")


SIGNS_LIKE = {
    "divergence": (do.Divergence(), oracle.divergence(D), field),
    "skewed": (do.SecondOrder(jnp.array(SKEWED)), oracle.second_order(SKEWED), u),
    "parabolic": (do.ParabolicTrace(jnp.array(B)), oracle.parabolic(B, D), u),
}


@pytest.mark.parametrize("name", SIGNS_LIKE)
def test_roots_of_order_two_are_signs(monkeypatch, name):
    check(monkeypatch, probes.Roots, "numbers", roots(2, D), SIGNS_LIKE[name], 1, "roots")


# Draws of terms


def strata_outcomes(strata):
    """Every combination of subsets, one from each stratum of neighbours."""
    start, choices = 0, []
    for n, size in strata:
        choices.append(list(itertools.combinations(range(start, start + size), n)))
        start += size
    return alike(np.concatenate(row) for row in itertools.product(*choices))


def case_in(d, k):
    """Σ_i ∂_i^k in d dimensions."""
    operator = do.Laplacian() if k == 2 else do.DiagonalK(k)
    return (operator, oracle.diagonal(d, k), Waves(d)), np.linspace(-0.5, 0.7, d)


@pytest.mark.parametrize(
    ("d", "n", "k", "per_stratum"),
    [(5, 2, 2, 1), (5, 3, 4, 2), (7, 5, 2, 2), (7, 5, 2, 3), (4, 1, 3, 2)],
)
def test_strata(monkeypatch, d, n, k, per_stratum):
    """Sizes that do not divide: strata of different sizes, with different numbers of draws."""
    strata = probes.strata.cut(d, n, max(1, n // per_stratum))
    case, x = case_in(d, k)
    probe = probes.Stratified(per_stratum)
    check(monkeypatch, sampling, "stratified", strata_outcomes(strata), case, n, probe, x)


@pytest.mark.parametrize("name", TERMWISE)
def test_strata_of_operators(monkeypatch, name):
    case = TERMWISE[name]
    total = 2 if name == "parabolic_matrix" else D  # columns of sigma
    outcomes = strata_outcomes(probes.strata.cut(total, total - 1, max(1, (total - 1) // 2)))
    check(monkeypatch, sampling, "stratified", outcomes, case, total - 1, "stratified")


@pytest.mark.parametrize(("d", "n", "k"), [(5, 1, 2), (5, 3, 3), (7, 6, 2)])
def test_systematic(monkeypatch, d, n, k):
    """All starts, on circles that n does not divide."""
    case, x = case_in(d, k)
    check(monkeypatch, sampling, "uniform", subsets(d, 1), case, n, "systematic", x)


# Which terms are drawn and what a term is are apart: strata are of every operator, the others of
# one for each form of terms.
FORMS = ["laplacian", "diagonal5", "divergence", "matvec", "product"]


@pytest.mark.parametrize("name", [*FORMS, "parabolic_matrix"])
def test_systematic_of_operators(monkeypatch, name):
    total = 2 if name == "parabolic_matrix" else D
    starts = subsets(total, 1)
    check(monkeypatch, sampling, "uniform", starts, TERMWISE[name], total - 1, "systematic")


SPLITS = [(5, 1, (1,), 2), (5, 2, (0, 4), 3), (6, 2, (5, 2, 3), 2), (5, 3, (), 2), (5, 3, (2,), 3)]


@pytest.mark.parametrize(("d", "n", "exact", "k"), SPLITS)
def test_split(monkeypatch, d, n, exact, k):
    case, x = case_in(d, k)
    outcomes = subsets(d - len(exact), n)
    check(monkeypatch, sampling, "subset", outcomes, case, n, probes.Split(exact), x)


@pytest.mark.parametrize("name", FORMS)
def test_split_of_operators(monkeypatch, name):
    outcomes, probe = subsets(D - 1, 1), probes.Split([1])
    check(monkeypatch, sampling, "subset", outcomes, TERMWISE[name], 1, probe)


MATRICES = {"symmetric": SYMMETRIC, "skewed": SKEWED}


@pytest.mark.parametrize("name", MATRICES)
def test_numbered_entries(monkeypatch, name):
    """The terms of an array C are its entries, d² of them, row by row."""
    C = MATRICES[name]
    case = (do.SecondOrder(jnp.array(C)), oracle.second_order(C), u)
    check(monkeypatch, sampling, "uniform", subsets(D * D, 1), case, 2, "systematic")
    strata = probes.strata.cut(D * D, 2, 1)
    check(monkeypatch, sampling, "stratified", strata_outcomes(strata), case, 2, "stratified")
    check(monkeypatch, sampling, "subset", subsets(D * D - 1, 1), case, 1, probes.Split((4,)))


# Importance

USER = np.array([0.5, 3.0, 1.0])


@pytest.mark.parametrize("name", FORMS)
def test_importance(monkeypatch, name):
    outcomes = weighted_draws(USER, 2)
    check(monkeypatch, sampling, "weighted", outcomes, TERMWISE[name], 2, probes.Importance(USER))


@pytest.mark.parametrize("n", [1, 2])
def test_importance_of_copies(monkeypatch, n):
    """Δ²: each copy draws its coordinate with the same weights."""
    one = list(weighted_draws(USER, n))
    outcomes = [([a, b], p * q) for ((a,), p), ((b,), q) in itertools.product(one, repeat=2)]
    case = BIHARMONIC
    check(monkeypatch, sampling, "weighted", outcomes, case, n, probes.Importance(USER))


ENTRIES = {"symmetric": SYMMETRIC, "skewed": SKEWED, "diagonal": np.diag([1.0, 2.0, -1.0])}


@pytest.mark.parametrize("name", ENTRIES)
def test_importance_of_entries(monkeypatch, name):
    """Weights are free to be zero where (C + Cᵀ)/2 is."""
    C = ENTRIES[name]
    weights = np.arange(1.0, 1.0 + D * D) * (np.ravel(C + C.T) != 0)
    case = (do.SecondOrder(jnp.array(C)), oracle.second_order(C), u)
    outcomes = weighted_draws(weights, 2)
    check(monkeypatch, sampling, "weighted", outcomes, case, 2, probes.Importance(weights))


def test_importance_of_a_tensor(monkeypatch):
    alphas, c = [{0: 2, 1: 1}, {1: 2, 2: 1}, {2: 2, 0: 1}], [1.0, -3.0, 0.5]
    case = (do.TensorOperator(alphas, c), oracle.terms(D, alphas, c), u)
    outcomes = weighted_draws(USER, 2)
    check(monkeypatch, sampling, "weighted", outcomes, case, 2, probes.Importance(USER))


SAME_TERMS = {
    "sparse": (do.SecondOrder(jnp.array([1.0, 2.0, 4.0])), [1.0, 2.0, 4.0], "sparse"),
    "importance": (do.Laplacian(), USER, probes.Importance(USER)),
}


@pytest.mark.parametrize("name", SAME_TERMS)
def test_sums_of_weighted_draws(monkeypatch, name):
    """Two factors in one sum, each with its own probabilities or both with the same ones."""
    first, magnitudes, probe = SAME_TERMS[name]
    other = np.array([-5.0, 1.0, 1.0])
    operator = first + do.SecondOrder(jnp.array(other))
    C = np.diag(other) + np.diag([1.0, 2.0, 4.0] if name == "sparse" else np.ones(D))
    case = (operator, oracle.second_order(C), u)
    mine = list(weighted_draws(magnitudes, 1))
    theirs = list(weighted_draws(other if name == "sparse" else magnitudes, 1))
    outcomes = [([*a, *b], p * q) for (a, p), (b, q) in itertools.product(mine, theirs)]
    if name == "importance":  # one stream: they draw the same term
        outcomes = [([*a, *a], p) for a, p in mine]
    check(monkeypatch, sampling, "weighted", outcomes, case, 1, probe)


# Directions


def frames(size, n):
    """Every signed permutation of the axes, turned by a fixed rotation.

    The group acts irreducibly, so by Schur's lemma the mean of v vᵀ over it is a multiple of I, and
    its trace makes that I. Quadratic forms need no more: the mean is that of Haar measure.
    """
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))
    for places in itertools.permutations(range(size), n):
        for signs in itertools.product([-1.0, 1.0], repeat=n):
            frame = np.zeros((n, size))
            frame[np.arange(n), places] = signs
            yield np.sqrt(size) * frame @ rotation


QUADRATIC = {
    **SIGNS_LIKE,
    "laplacian": (do.Laplacian(), oracle.laplacian(D), u),
    "symmetric": (do.SecondOrder(jnp.array(SYMMETRIC)), oracle.second_order(SYMMETRIC), u),
    "diagonal": (do.SecondOrder(jnp.array(B)), oracle.second_order(np.diag(B)), u),
    "matvec": WITHOUT_REPLACEMENT["matvec"],
    "callable": WITHOUT_REPLACEMENT["callable"],
}


@pytest.mark.parametrize(("name", "n"), [*((name, 2) for name in QUADRATIC), ("symmetric", 1)])
def test_orthogonal(monkeypatch, name, n):
    outcomes = alike(frames(D, n))
    owner = probes.Orthogonal
    check(monkeypatch, owner, "directions", outcomes, QUADRATIC[name], n, "orthogonal")


def test_orthogonal_directions():
    """n orthogonal directions of length √d; in the mean each entry of v vᵀ is that of I."""
    v = many(lambda key: probes.Orthogonal().directions(key, 3, 5, jnp.dtype("float64")), 4000, 0)
    gram = v @ v.transpose(0, 2, 1)
    np.testing.assert_allclose(gram, np.broadcast_to(5 * np.eye(3), gram.shape), atol=1e-12)
    for row in range(3):  # of each by itself, and signs are not those of the QR decomposition
        products = v[:, row, :, None] * v[:, row, None, :]
        error = products.std(0) / np.sqrt(4000)
        assert np.all(np.abs(products.mean(0) - np.eye(5)) <= Z * error)
        assert np.all(np.abs(v[:, row].mean(0)) <= Z / np.sqrt(4000))


def test_all_orthogonal_directions_are_exact():
    """n ≥ d directions are a basis: not drawn at all."""
    E = do.SecondOrder(jnp.array(SYMMETRIC)).estimate(jax.random.key(0), D, probes="orthogonal")
    expected = value_of(oracle.second_order(SYMMETRIC), u)
    np.testing.assert_allclose(jax.jit(E(u))(jnp.asarray(X)), expected, rtol=1e-11)


SHIFTED = {
    "indefinite": (do.SecondOrder(jnp.array(SYMMETRIC)), SYMMETRIC),
    "not symmetric": (do.SecondOrder(jnp.array(SKEWED)), SKEWED),
    "identity": (do.SecondOrder(jnp.eye(D)), np.eye(D)),
    "negative": (do.SecondOrder(-jnp.eye(D)), -np.eye(D)),
    "singular": (do.SecondOrder(jnp.ones((D, D))), np.ones((D, D))),
    "diagonal": (do.SecondOrder(jnp.array(B)), np.diag(B)),
    "of the point": (do.SecondOrder(lambda x: jnp.array(SYMMETRIC) * x[2]), 1.1 * SYMMETRIC),
    "diagonal of the point": (do.SecondOrder(lambda x: jnp.array(B) * x[2]), 1.1 * np.diag(B)),
}


@pytest.mark.parametrize(
    ("name", "shift"),
    [*((name, None) for name in SHIFTED), ("indefinite", 6.0), ("of the point", 6.0)],
)
def test_shifted(monkeypatch, name, shift):
    """(C + λI):∇² − λΔ by Gauss-Hermite nodes, which are exact for Gaussian moments."""
    operator, C = SHIFTED[name]
    case, probe = (operator, oracle.second_order(C), u), probes.Shifted(shift)
    check(monkeypatch, probes.Shifted, "directions", hermite(D), case, 1, probe)


def test_shifted_in_chosen_coordinates(monkeypatch):
    C = SYMMETRIC[:2, :2]
    full = np.zeros((D, D))
    full[np.ix_([0, 2], [0, 2])] = C
    case = (do.SecondOrder(jnp.array(C), dims=(0, 2)), oracle.second_order(full), u)
    check(monkeypatch, probes.Shifted, "directions", hermite(2), case, 1, "shifted")


@pytest.mark.parametrize("probe", ["gaussian", "sphere"])
def test_dense_draws_of_two_are_means(monkeypatch, probe):
    """n directions count 1/n each: both equal gives the value of one."""
    v = jnp.array([[0.3, -1.0, 2.0]])
    owner, values = type(probes.as_probe(probe)), []
    for n in (1, 2):
        monkeypatch.setattr(owner, "directions", lambda *args, n=n: jnp.repeat(v, n, 0))
        E = do.Biharmonic().estimate(jax.random.key(0), n, probes=probe)
        values.append(float(jax.jit(E(u))(jnp.asarray(X))))
    np.testing.assert_allclose(values[1], values[0], rtol=1e-12)

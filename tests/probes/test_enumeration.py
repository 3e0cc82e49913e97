"""Estimators are unbiased: the mean over *all* draws, weighted by their probabilities, is exact.

The random sources of the library (`sampling.subset`, `stratified`, `uniform`, `weighted`, the
numbers of roots, and the directions of dense probes) are replaced by every outcome that they can
have, and Gaussian directions by a quadrature that is exact for them; the oracle gives the value
that the mean must have. What these sources themselves return is proved in `test_sampling.py`.
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
from ..draws import Z, alike, many, over_all, signs, subsets, tuples, weighted_draws
from ..waves import Waves

pytestmark = pytest.mark.usefixtures("x64")

D = 3
X = np.array([0.4, -0.7, 1.1])
B = np.array([0.5, -1.5, 2.0])
SYMMETRIC = np.array([[2.0, -1.0, 0.5], [-1.0, -3.0, 1.5], [0.5, 1.5, 0.25]])
SKEWED = np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 0.5], [3.0, -2.0, -1.0]])
SIGMA = np.array([[1.0, 0.5], [0.0, -2.0], [1.5, 1.0]])
PAIRS = [{0: 1, 1: 1}, {1: 1, 2: 1}, {0: 1, 2: 1}]
THIRD = [{0: 2, 1: 1}, {1: 2, 2: 1}, {2: 2, 0: 1}]
USER = np.array([0.5, 3.0, 1.0])

u = Waves(D)
field = Waves(D, outputs=(D,))


def value_of(reference, function, x=X):
    """What the mean must be, from derivatives in closed form."""
    return reference.value(function.derivatives(x, reference.order), (jnp.asarray(x),))


def second_order(C, given=None):
    """C:∇², C as it is given to the operator or as a matrix."""
    return do.SecondOrder(jnp.array(C) if given is None else given), oracle.second_order(C), u


def of_point(C):
    """x_2 C:∇²."""
    coefficients = lambda x: jnp.asarray(C) * x[2]
    return second_order(coefficients, coefficients)


def power_of(d, k):
    """Σ_i ∂_i^k in d dimensions, and a point there."""
    operator = do.Laplacian() if k == 2 else do.DiagonalK(k)
    return (operator, oracle.diagonal(d, k), Waves(d)), np.linspace(-0.5, 0.7, d)


def powered(m):
    return do.PolyLaplacian(m), oracle.polylaplacian(D, m), u


def tensor(alphas, c):
    return do.TensorOperator(alphas, c), oracle.terms(D, alphas, c), u


SUBSET = {
    "laplacian": (do.Laplacian(), oracle.laplacian(D), u),
    "diagonal3": (do.DiagonalK(3), oracle.diagonal(D, 3), u),
    "diagonal4": (do.DiagonalK(4), oracle.diagonal(D, 4), u),
    "divergence": (do.Divergence(), oracle.divergence(D), field),
    "parabolic_vector": (do.ParabolicTrace(jnp.array(B)), oracle.parabolic(B, D), u),
    "matvec": second_order(SKEWED, do.operators.MatVec(lambda v: SKEWED @ v)),
    "callable": second_order(SYMMETRIC, lambda x: jnp.array(SYMMETRIC)),
    "equal_weights": tensor(PAIRS, [2.0, -2.0, 2.0]),
}
TERMWISE = SUBSET | {
    "diagonal5": (do.DiagonalK(5), oracle.diagonal(D, 5), u),
    "product": (
        do.Laplacian() @ do.Partial(1),
        oracle.terms(D, [{0: 2, 1: 1}, {1: 3}, {2: 2, 1: 1}], [1.0] * 3),
        u,
    ),
    "parabolic_matrix": (do.ParabolicTrace(jnp.array(SIGMA)), oracle.parabolic(SIGMA, D), u),
    "parabolic_number": (do.ParabolicTrace(jnp.array(0.5)), oracle.parabolic(0.5, D), u),
}
# Which terms are drawn and what a term is are apart: subsets and strata are of every operator, the
# others of one for each form of terms.
FORMS = ["laplacian", "diagonal5", "divergence", "matvec", "product"]
ENTRIES = {"symmetric": SYMMETRIC, "skewed": SKEWED, "diagonal": np.diag([1.0, 2.0, -1.0])}
QUADRATIC = {
    "laplacian": SUBSET["laplacian"],
    "divergence": SUBSET["divergence"],
    "skewed": second_order(SKEWED),
    "symmetric": second_order(SYMMETRIC),
    "diagonal": second_order(np.diag(B), jnp.array(B)),
    "matvec": SUBSET["matvec"],
    "callable": SUBSET["callable"],
    "parabolic": SUBSET["parabolic_vector"],
}
SHIFTED = {
    "indefinite": second_order(SYMMETRIC),
    "not symmetric": second_order(SKEWED),
    "identity": second_order(np.eye(D)),
    "negative": second_order(-np.eye(D)),
    "singular": second_order(np.ones((D, D))),
    "diagonal": QUADRATIC["diagonal"],
    "of the point": of_point(SYMMETRIC),
    "diagonal of the point": of_point(B),
}


def terms_of(name):
    """How many there are: of the parabolic one the columns of sigma."""
    return 2 if name == "parabolic_matrix" else D


def strata(total, n, per_stratum=2):
    """Every combination of subsets, one from each stratum of neighbours."""
    start, choices = 0, []
    for drawn, size in probes.strata.cut(total, n, max(1, n // per_stratum)):
        choices.append(list(itertools.combinations(range(start, start + size), drawn)))
        start += size
    return alike(np.concatenate(row) for row in itertools.product(*choices))


def roots(k, size=D):
    return alike(np.array(row)[None] for row in itertools.product(range(k), repeat=size))


def frames(n):
    """Every signed permutation of the axes, turned by a fixed rotation.

    The group acts irreducibly, so by Schur's lemma the mean of v vᵀ over it is a multiple of I, and
    its trace makes that I. Quadratic forms need no more: the mean is that of Haar measure.
    """
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(D, D)))
    found = []
    for places in itertools.permutations(range(D), n):
        for row in itertools.product([-1.0, 1.0], repeat=n):
            frame = np.zeros((n, D))
            frame[np.arange(n), places] = row
            found.append(np.sqrt(D) * frame @ rotation)
    return alike(found)


def hermite(size=D):
    """Gauss-Hermite nodes and weights: exact for Gaussian moments up to degree 11."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    weights = weights / weights.sum()
    for index in itertools.product(range(6), repeat=size):
        point = nodes[list(index)]
        yield [jnp.array(point)[None]], float(np.prod(weights[list(index)]))


def icosahedron():
    """A spherical design of degree 5, which stands for the uniform sphere."""
    phi = (1 + 5**0.5) / 2
    corners = [(0, a, b * phi) for a in (-1, 1) for b in (-1, 1)]
    points = [np.roll(corner, shift) for corner in corners for shift in range(3)]
    return alike(np.sqrt(D) * p[None] / np.linalg.norm(p) for p in points)


def together(first, second):
    """Two draws one after the other."""
    pairs = itertools.product(list(first), list(second))
    return [([*a, *b], p * q) for (a, p), (b, q) in pairs]


def draws():
    """A name, a source, a function that lists its outcomes, an operator with its oracle and a
    function, the number of draws, the probe, and the point.
    """
    for n in (1, 2):
        for name, case in SUBSET.items():
            yield f"sparse-{name}-{n}", "subset", lambda n=n: subsets(D, n), case, n, "sparse", X
        for name, C in (ENTRIES | {"diagonal": np.diag([0.0, 2.0, 0.0])}).items():
            every = lambda n=n, C=C: weighted_draws(np.ravel((C + C.T) / 2), n)
            yield f"entries-{name}-{n}", "weighted", every, second_order(C), n, "sparse", X
        c = [1.0, -3.0, 0.5]
        every = lambda n=n, c=c: weighted_draws(c, n)
        yield f"terms-{n}", "weighted", every, tensor(THIRD, c), n, "sparse", X
        every = lambda n=n: together(weighted_draws(USER, n), weighted_draws(USER, n))
        probe = probes.Importance(USER)
        yield f"importance-copies-{n}", "weighted", every, powered(2), n, probe, X
    for m, n in ((2, 1), (2, 2), (3, 1)):
        every = lambda m=m, n=n: tuples(D, n, m)
        yield f"copies-{m}-{n}", "uniform", every, powered(m), n, "sparse", X

    # strata of different sizes, with different numbers of draws; circles that n does not divide
    for d, n, k, per in ((5, 2, 2, 1), (5, 3, 4, 2), (7, 5, 2, 2), (7, 5, 2, 3), (4, 1, 3, 2)):
        every, probe = lambda d=d, n=n, per=per: strata(d, n, per), probes.Stratified(per)
        case, x = power_of(d, k)
        yield f"strata-{d}-{n}-{k}-{per}", "stratified", every, case, n, probe, x
    for name, case in TERMWISE.items():
        t = terms_of(name)
        every = lambda t=t: strata(t, t - 1)
        yield f"strata-{name}", "stratified", every, case, t - 1, "stratified", X
    for d, n, k in ((5, 1, 2), (5, 3, 3), (7, 6, 2)):
        case, x = power_of(d, k)
        every = lambda d=d: subsets(d, 1)
        yield f"systematic-{d}-{n}-{k}", "uniform", every, case, n, "systematic", x
    for name in (*FORMS, "parabolic_matrix"):
        t = terms_of(name)
        every = lambda t=t: subsets(t, 1)
        yield f"systematic-{name}", "uniform", every, TERMWISE[name], t - 1, "systematic", X
    splits = (
        (5, 1, (1,), 2),
        (5, 2, (0, 4), 3),
        (6, 2, (5, 2, 3), 2),
        (5, 3, (), 2),
        (5, 3, (2,), 3),
    )
    for d, n, exact, k in splits:
        case, x = power_of(d, k)
        every = lambda d=d, n=n, exact=exact: subsets(d - len(exact), n)
        yield f"split-{d}-{n}-{exact}-{k}", "subset", every, case, n, probes.Split(exact), x
    for name in FORMS:
        every, probe = lambda: subsets(D - 1, 1), probes.Split([1])
        yield f"split-{name}", "subset", every, TERMWISE[name], 1, probe, X
        every, probe = lambda: weighted_draws(USER, 2), probes.Importance(USER)
        yield f"importance-{name}", "weighted", every, TERMWISE[name], 2, probe, X
    # the terms of an array C are its entries, d² of them, row by row
    for name in ("symmetric", "skewed"):
        case, count = second_order(ENTRIES[name]), D * D
        every = lambda: subsets(count, 1)
        yield f"systematic-entries-{name}", "uniform", every, case, 2, "systematic", X
        every = lambda: strata(count, 2)
        yield f"strata-entries-{name}", "stratified", every, case, 2, "stratified", X
        every = lambda: subsets(count - 1, 1)
        yield f"split-entries-{name}", "subset", every, case, 1, probes.Split((4,)), X
    for name, C in ENTRIES.items():  # weights are free to be zero where (C + Cᵀ)/2 is
        weights = np.arange(1.0, 1.0 + D * D) * (np.ravel(C + C.T) != 0)
        every, probe = lambda w=weights: weighted_draws(w, 2), probes.Importance(weights)
        yield f"importance-entries-{name}", "weighted", every, second_order(C), 2, probe, X
    every, probe = lambda: weighted_draws(USER, 2), probes.Importance(USER)
    yield "importance-tensor", "weighted", every, tensor(THIRD, [1.0, -3.0, 0.5]), 2, probe, X

    # sums of two factors, each with its own probabilities, or drawn by one stream: the same term
    first, other = np.array([1.0, 2.0, 4.0]), np.array([-5.0, 1.0, 1.0])
    own = do.SecondOrder(jnp.array(first)) + do.SecondOrder(jnp.array(other))
    case = own, oracle.second_order(np.diag(first + other)), u
    every = lambda: together(weighted_draws(first, 1), weighted_draws(other, 1))
    yield "sum-sparse", "weighted", every, case, 1, "sparse", X
    own = do.Laplacian() + do.SecondOrder(jnp.array(other))
    case = own, oracle.second_order(np.diag(1 + other)), u
    every = lambda: [([*a, *a], p) for a, p in weighted_draws(USER, 1)]
    yield "sum-importance", "weighted", every, case, 1, probes.Importance(USER), X

    # all k^d draws of roots, with the k real jets of a draw or one of them; those of two are signs
    antithetic = *((k, True) for k in (2, 3, 4, 5)), (3, False), (4, False)
    for k, both in antithetic:
        every, probe = lambda k=k: roots(k), probes.Roots(antithetic=both)
        case = (power_of(D, k)[0][0], oracle.diagonal(D, k), u)
        yield f"roots-{k}-{both}", "numbers", every, case, 1, probe, X
    for k in (3, 4):
        case = do.DiagonalK(k, dims=(0, 2)), oracle.diagonal(D, k, (0, 2)), u
        yield f"roots-dims-{k}", "numbers", lambda k=k: roots(k, 2), case, 1, "roots", X
    for name in ("divergence", "skewed", "parabolic"):
        yield f"roots-{name}", "numbers", lambda: roots(2), QUADRATIC[name], 1, "roots", X

    # directions
    for name in ("laplacian", "divergence", "skewed", "diagonal", "matvec"):
        every = lambda: signs(D, 1)
        yield f"rademacher-{name}", "directions", every, QUADRATIC[name], 1, "rademacher", X
    of_two = {
        "parabolic": TERMWISE["parabolic_matrix"],
        "dims": (do.Laplacian(dims=(0, 2)), oracle.laplacian(D, dims=(0, 2)), u),
    }
    for name, case in of_two.items():
        yield f"rademacher-{name}", "directions", lambda: signs(2, 1), case, 1, "rademacher", X
    for m in (1, 2, 3):  # E[(v·∇)^{2m}]/(2m−1)!! = Δ^m
        yield f"gaussian-{m}", "directions", hermite, powered(m), 1, "gaussian", X
    for m in (1, 2):
        yield f"sphere-{m}", "directions", icosahedron, powered(m), 1, "spherical", X
    for name, n in (*((name, 2) for name in QUADRATIC), ("symmetric", 1)):
        every = lambda n=n: frames(n)
        yield f"orthogonal-{name}-{n}", "directions", every, QUADRATIC[name], n, "orthogonal", X
    # (C + λI):∇² − λΔ
    shifts = *((name, None) for name in SHIFTED), ("indefinite", 6.0), ("of the point", 6.0)
    for name, shift in shifts:
        probe = probes.Shifted(shift)
        yield f"shifted-{name}-{shift}", "directions", hermite, SHIFTED[name], 1, probe, X
    C, full = SYMMETRIC[:2, :2], np.zeros((D, D))
    full[np.ix_([0, 2], [0, 2])] = C
    case = do.SecondOrder(jnp.array(C), dims=(0, 2)), oracle.second_order(full), u
    yield "shifted-dims", "directions", lambda: hermite(2), case, 1, "shifted", X


def over(monkeypatch, name, outcomes, operator, n, function, kind="sparse", x=X):
    """The estimates of all outcomes of one source, and their probabilities."""
    owner = sampling if hasattr(sampling, name) else type(probes.as_probe(kind))
    estimate = operator.estimate(jax.random.key(0), n, probes=kind)(function)
    return over_all(monkeypatch, owner, name, outcomes, lambda: estimate(jnp.asarray(x)))


def mean_over(*draw, **kind) -> float:
    values, p = over(*draw, **kind)
    return float(p @ values)


WITHOUT_CHOICE = {"entries-diagonal-1", "entries-diagonal-2"}
"""One entry is not zero."""


@pytest.mark.parametrize(
    ("name", "source", "outcomes", "case", "n", "probe", "x"),
    [pytest.param(*each, id=each[0]) for each in draws()],
)
def test_mean_over_all_draws(monkeypatch, name, source, outcomes, case, n, probe, x):
    operator, reference, function = case
    values, p = over(monkeypatch, source, outcomes(), operator, n, function, probe, x)
    assert (np.ptp(values) > 1e-8) != (name in WITHOUT_CHOICE)
    np.testing.assert_allclose(p @ values, value_of(reference, function, x), rtol=1e-11)


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


@pytest.mark.parametrize("probe", ["gaussian", "spherical"])
def test_dense_draws_of_two_are_means(monkeypatch, probe):
    """n directions count 1/n each: both equal gives the value of one."""
    v = jnp.array([[0.3, -1.0, 2.0]])
    owner, values = type(probes.as_probe(probe)), []
    for n in (1, 2):
        monkeypatch.setattr(owner, "directions", lambda *args, n=n: jnp.repeat(v, n, 0))
        E = do.Biharmonic().estimate(jax.random.key(0), n, probes=probe)
        values.append(float(jax.jit(E(u))(jnp.asarray(X))))
    np.testing.assert_allclose(values[1], values[0], rtol=1e-12)

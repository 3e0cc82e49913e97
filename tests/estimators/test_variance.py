"""`do.variance` is the variance over all draws.

Formulas are compared with enumerations of every draw that are written here, in plain numpy, from
the terms of an operator or the matrix of its quadratic form; those have derivatives from
`jax.hessian`. Rotation-invariant directions are compared with their closed forms. Pilots have fixed
keys.
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

from ..draws import Z

pytestmark = pytest.mark.usefixtures("x64")

D = 5
X = np.linspace(0.3, 1.2, D)
RNG = np.random.default_rng(0)
C, SIGMA = RNG.integers(-12, 13, size=(2, D, D)) / 8.0  # the same numbers in single precision
WEIGHTS = np.array([1.0, 3.0, 2.0, 0.5, 1.0])


def u(x):
    return (
        jnp.sum(x**4 * jnp.arange(1.0, D + 1)) * x[1] + x[0] ** 3 * x[2] * x[3] + x[3] * x[4] ** 2
    )


def field(x):
    return jnp.stack([x[0] ** 2 * x[1], x[1] * x[2], x[0] * x[2] ** 3, x[3] * x[1], x[4] ** 3])


def c(x):
    return 1 + x[0] * x[1]


@pytest.fixture(scope="module")
def hessian(x64):
    return np.asarray(jax.jit(jax.hessian(u))(jnp.asarray(X)))


def fourth():
    """∂_i⁴ u, by hand: x_i⁴ x_1 for i ≠ 1, and x_1⁵."""
    result = 24 * np.arange(1.0, D + 1) * X[1]
    result[1] = 2 * 120 * X[1]
    return result


def symmetric(matrix):
    return (matrix + matrix.T) / 2


JACOBIAN = lambda: np.asarray(jax.jit(jax.jacfwd(field))(jnp.asarray(X)))
OPERATORS = {  # operator, function, terms and matrix from the Hessian
    "laplacian": (do.Laplacian(), u, np.diag, lambda H: H),
    "parabolic": (
        do.ParabolicTrace(jnp.asarray(SIGMA)),
        u,
        lambda H: np.diag(SIGMA.T @ H @ SIGMA) / 2,
        lambda H: SIGMA.T @ H @ SIGMA / 2,
    ),
    "divergence": (
        do.Divergence(),
        field,
        lambda H: np.diag(JACOBIAN()),
        lambda H: symmetric(JACOBIAN()),
    ),
    "scaled": (
        c * do.Laplacian(),
        u,
        lambda H: (1 + X[0] * X[1]) * np.diag(H),
        lambda H: (1 + X[0] * X[1]) * H,
    ),
    "shared": (
        do.Laplacian() + 0.1 * do.DiagonalK(4),
        u,
        lambda H: np.diag(H) + 0.1 * fourth(),
        None,
    ),
    "matrix": (do.SecondOrder(jnp.asarray(C)), u, None, lambda H: symmetric(H @ C)),
    "matrix and laplacian": (
        do.SecondOrder(jnp.asarray(C)) + 2 * do.Laplacian(),
        u,
        None,
        lambda H: symmetric(H @ C) + 2 * H,
    ),
}


def of_choices(values, n, choices):
    """The variance of N/n times the sum of the terms chosen, all choices alike."""
    return np.var([len(values) / n * values[list(each)].sum() for each in choices])


def of_strata(t, strata):
    """Some of each stratum of neighbours, independently: each is (members, draws)."""
    return sum(of_choices(t[m], n, itertools.combinations(range(len(m)), n)) for m, n in strata)


def of_starts(t, n):
    steps = [r * len(t) // n for r in range(n)]
    return of_choices(t, n, [[(first + s) % len(t) for s in steps] for first in range(len(t))])


def of_tuples(t, p, n):
    """n independent terms with probabilities p."""
    p = p / p.sum()
    support = np.flatnonzero(p)
    rows = [list(row) for row in itertools.product(support, repeat=n)]
    estimates = np.array([np.mean(t[row] / p[row]) for row in rows])
    chances = np.array([np.prod(p[row]) for row in rows])
    return chances @ estimates**2 - (chances @ estimates) ** 2


def of_signs(A, n):
    single = [v @ A @ v for v in np.array(list(itertools.product([-1, 1], repeat=D)))]
    return np.var([np.mean(each) for each in itertools.product(single, repeat=n)])


def of_directions(A, n, name):
    frobenius, trace = np.sum(A**2), np.trace(A)
    if name == "gaussian":
        return 2 * frobenius / n
    sphere = 2 * D / (D + 2) * (frobenius - trace**2 / D) / n
    return sphere if name == "spherical" else sphere * (D - n) / (D - 1)


OF_TERMS = {
    "sparse": ("sparse", 2, lambda t: of_choices(t, 2, itertools.combinations(range(D), 2))),
    "stratified": ("stratified", 4, lambda t: of_strata(t, [([0, 1, 2], 2), ([3, 4], 2)])),
    "one of each": (
        probes.Stratified(1),
        3,
        lambda t: of_strata(t, [([0, 1], 1), ([2, 3], 1), ([4], 1)]),
    ),
    "systematic": ("systematic", 3, lambda t: of_starts(t, 3)),
    "split": (probes.Split([0, 2]), 2, lambda t: of_strata(t, [([1, 3, 4], 2)])),
    "importance": (probes.Importance(WEIGHTS), 2, lambda t: of_tuples(t, WEIGHTS, 2)),
}
OF_FORMS = {
    "one sign vector": ("rademacher", 1, lambda A: of_signs(A, 1)),
    "rademacher": ("rademacher", 2, lambda A: of_signs(A, 2)),
    "roots": ("roots", 2, lambda A: of_signs(A, 2)),
    "gaussian": ("gaussian", 3, lambda A: of_directions(A, 3, "gaussian")),
    "spherical": ("spherical", 3, lambda A: of_directions(A, 3, "spherical")),
    "orthogonal": ("orthogonal", 3, lambda A: of_directions(A, 3, "orthogonal")),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_formulas(name, hessian):
    """All kinds of draws for the first operator, some for the others."""
    operator, function, terms, form = OPERATORS[name]
    few = ("sparse", "importance", "rademacher", "orthogonal")
    expected = {}
    for matrix, kinds in ((terms, OF_TERMS), (form, OF_FORMS)):
        for kind, (probe, n, variance) in kinds.items():
            if matrix is not None and (name == "laplacian" or kind in few):
                expected[kind] = (probe, n, variance(matrix(hessian)))
    methods = set()

    def of(kind, n, x):
        found = do.variance(operator, probes=kind, n=n)(function)(x)
        methods.add(found.method)
        return found.variance

    every = lambda x: {k: of(kind, n, x) for k, (kind, n, _) in expected.items()}
    got = jax.jit(every)(jnp.asarray(X))
    assert methods == {"formula"}
    for kind, (_, _, variance) in expected.items():
        assert variance > 1e-3
        np.testing.assert_allclose(got[kind], variance, rtol=1e-9, err_msg=kind)


def test_entries_by_magnitude(hessian):
    """Of a matrix C entries are drawn with p ∝ |C_ij|, those of its symmetric part."""
    operator, S = do.SecondOrder(jnp.asarray(C)), symmetric(C)
    got = jax.jit(lambda x: do.variance(operator, n=2)(u)(x).variance)(jnp.asarray(X))
    expected = of_tuples(np.ravel(S * hessian), np.abs(S).ravel(), 2)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def method(operator, **kwargs):
    """How a variance is found, and with how many jets; nothing is computed."""
    found = []
    jax.eval_shape(lambda x: found.append(do.variance(operator, **kwargs)(u)(x)), jnp.asarray(X))
    return found[0][1:]


def test_how_many_jets():
    """All terms, or all directions e_i and e_i + e_j; or those of a pilot, where these are more
    than they may be.
    """
    assert method(do.Laplacian(), n=2) == ("formula", D)
    pilot = dict(key=jr.key(0), pilot=10)
    assert method(do.Laplacian(), probes="spherical", max_jets=15, **pilot) == ("formula", 15)
    assert method(do.Laplacian(), probes="spherical", max_jets=14, **pilot) == ("pilot", 10)
    assert method(do.Laplacian(), max_jets=4, **pilot) == ("pilot", 10)


def test_several_outputs():
    """Each output has its own variance, in u's structure: E|z − Ez|² where it is complex."""

    phase = 0.6 + 0.8j
    turned = lambda y: jax.lax.complex(phase.real * y, phase.imag * y)

    def several(x):
        form = x @ x * x[0]
        return {"a": turned(jnp.stack([form, x[0] * x[1]])), "b": jnp.prod(x)}

    hessians = jax.jit(jax.jacfwd(jax.jacfwd(several)))(jnp.asarray(X))
    hessians = [np.real(np.asarray(H) / phase) for H in hessians["a"]] + [np.asarray(hessians["b"])]
    kinds = {
        "sparse": lambda A: OF_TERMS["sparse"][2](np.diag(A)),
        "rademacher": OF_FORMS["rademacher"][2],
        "spherical": lambda A: of_directions(A, 2, "spherical"),
        "importance": lambda A: OF_TERMS["importance"][2](np.diag(A)),
    }
    probe = lambda kind: OF_TERMS[kind][0] if kind == "importance" else kind
    of = lambda kind, x: do.variance(do.Laplacian(), probes=probe(kind), n=2)(several)(x).variance
    got = jax.jit(lambda x: {kind: of(kind, x) for kind in kinds})(jnp.asarray(X))
    for kind, variance in kinds.items():
        expected = [variance(H) for H in hessians]
        found = [*got[kind]["a"], got[kind]["b"]]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=kind)


EXACT = {
    "of order one": (do.Directional(jnp.asarray(WEIGHTS)) + do.Identity(), "auto", 1),
    "all terms": (do.Laplacian(), "auto", D),
    "all directions": (do.Laplacian(), "orthogonal", D),
    "one term": (do.Partial(0, 2), "sparse", 1),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_operators_have_none(name):
    operator, probe, n = EXACT[name]
    found = do.variance(operator, probes=probe, n=n)(u)(jnp.asarray(X))
    assert found == (0.0, "formula", 0)


# Pilots

PILOT = 4000


def of_squares(B):
    """The variance of (v·∇)⁴u/3 for u = (xᵀBx)², v ~ N(0, I): that of 8 (vᵀBv)². Moments of
    vᵀBv for B = diag(b) follow from its cumulants 2^{k−1} (k−1)! Σ b^k.
    """
    k1, k2, k3, k4 = (2 ** (k - 1) * [1, 1, 2, 6][k - 1] * np.sum(B**k) for k in (1, 2, 3, 4))
    second = k2 + k1**2
    fourth = k4 + 4 * k3 * k1 + 3 * k2**2 + 6 * k2 * k1**2 + k1**4
    return 64 * (fourth - second**2)


def test_pilot():
    """A sample variance has the relative variance (2 + excess kurtosis)/N; that of so heavy tails
    is from another, larger sample.
    """
    B, n = np.array([1.0, 0.5, -2.0, 1.5, 0.2]), 14
    square = lambda x: jnp.sum(jnp.asarray(B) * x**2) ** 2
    of = lambda x: do.variance(do.Biharmonic(), probes="gaussian", n=n, key=jr.key(0), pilot=PILOT)(
        square
    )(x)
    expected = of_squares(B) / n
    draws = 8 * (np.random.default_rng(0).normal(size=(200_000, D)) ** 2 @ B) ** 2
    error = expected * np.sqrt((2 + scipy.stats.kurtosis(draws) / n) / PILOT)
    got = float(jax.jit(lambda x: of(x).variance)(jnp.asarray(X)))
    assert abs(got - expected) <= Z * error <= 0.3 * expected


SHARED = {  # jets for each draw, operator, probes
    "probabilities": (
        2,
        do.SecondOrder(jnp.array([1.0, 5, 1, 1, 1]))
        + do.SecondOrder(jnp.array([3, -1, 0.1, 2, 1])),
        "sparse",
    ),
    "moments": (1, do.Laplacian() + 0.1 * do.Biharmonic(), "gaussian"),
}


@pytest.mark.parametrize("name", SHARED)
def test_shared_draws_with_different(name):
    """Sums whose terms use the same draws in different ways have no formula."""
    jets, operator, probe = SHARED[name]
    found = method(operator, probes=probe, n=4, key=jr.key(0), pilot=9)
    assert found == ("pilot", 9 * 4 * jets)

    def both(x):
        found = do.variance(operator, probes=probe, n=4, key=jr.key(0), pilot=2000)(u)(x)
        one = lambda key: operator.estimate(key, 4, probes=probe)(u)(x)
        return found.variance, jax.vmap(one)(jr.split(jr.key(1), 20_000))

    got, values = map(np.asarray, jax.jit(both)(jnp.asarray(X)))
    squares = (values - values.mean()) ** 2
    error = squares.std() * np.sqrt(1 / 2000 + 1 / 20_000)
    assert abs(got - squares.mean()) <= Z * error <= 0.5 * squares.mean()


def test_formula_and_pilot():
    """Designs are independent, their variances add: signs for Δ, cubic roots for Σ∂_i³."""
    pair = lambda x: x[0] * x[1] ** 2
    kwargs = dict(probes="roots", n=2, key=jr.key(0), pilot=20)
    operators = (do.Laplacian() + do.DiagonalK(3), do.DiagonalK(3))
    assert [method(op, **kwargs)[0] for op in operators] == ["formula and pilot", "pilot"]
    of = lambda x: [do.variance(op, **kwargs)(pair)(x).variance for op in operators]
    both, third = jax.jit(of)(jnp.asarray(X))
    np.testing.assert_allclose(both - third, 2 * 2 * (2 * X[1]) ** 2 / 2, rtol=1e-9)


# Errors

NO_OPERATOR = "variance is that of an operator|DifferentialOperator"  # by us, or by its type
REFUSED = {
    "no key": (do.Biharmonic(), dict(probes="gaussian"), ValueError, "give a key"),
    "a pilot of one": (
        do.Biharmonic(),
        dict(probes="gaussian", key=jr.key(0), pilot=1),
        ValueError,
        "estimates with other keys, must be at least 2; got 1",
    ),
    "an estimate": (do.Laplacian().estimate(jr.key(0), 2), {}, TypeError, NO_OPERATOR),
    "no operator": (u, {}, TypeError, NO_OPERATOR),
    "biased probes": (do.Biharmonic(), dict(probes="rademacher"), ValueError, "biased"),
    "no draws": (do.Laplacian(), dict(n=0), ValueError, "at least 1"),
    "a composition": (do.Laplacian() @ (c * do.Laplacian()), dict(n=2), ValueError, "composition"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    operator, kwargs, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        do.variance(operator, **kwargs)(u)(jnp.asarray(X))


@pytest.mark.usefixtures("as_users_see_it")
def test_a_pilot_is_a_number_of_estimates():
    given = dict(probes="gaussian", key=jr.key(0), pilot=2.5)
    with pytest.raises(TypeError, match=r"must be an integer; got 2\.5 of type float"):
        do.variance(do.Biharmonic(), **given)(u)(jnp.asarray(X))


def test_pilot_that_is_not_finite():
    with pytest.raises(ValueError, match="not finite"):
        do.variance(do.Biharmonic(), probes="gaussian", key=jr.key(0), pilot=2)(
            lambda x: jnp.log(x[0]) * x[1]
        )(jnp.zeros(3))


def test_of_a_divergence():
    """As the estimate: one number for a vector field, also where that is a pytree."""
    x = {"a": jnp.asarray(X[:2]), "b": jnp.asarray(X[2:])}
    field = lambda x: {"a": x["a"] ** 3, "b": x["b"] ** 2}
    terms = jnp.concatenate([3 * x["a"] ** 2, 2 * x["b"]])
    found = do.variance(do.Divergence(), n=2)(field)(x)
    np.testing.assert_allclose(found.variance, OF_TERMS["sparse"][2](np.asarray(terms)), rtol=1e-12)


def test_where_nothing_is_sampled():
    """In the estimate's structure and its real type, here a complex gradient."""
    turned = lambda x: {"u": jax.lax.complex(x[0], x[1]), "v": jnp.ones((), jnp.int32)}
    found = do.variance(do.Gradient())(turned)(jnp.asarray(X)).variance
    assert jax.tree.map(jnp.shape, found) == {"u": (len(X),), "v": (len(X),)}
    assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(found))

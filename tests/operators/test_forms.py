"""Second-order operators in other forms: low rank, and in divergence form, against nested
automatic differentiation.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import diffop as do
from diffop.probes import sampling

from .. import jaxprs, oracle
from ..draws import over_all, signs, subsets, weighted_draws
from ..probes.test_enumeration import mean_over
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

D = 3
KEY = jax.random.key(0)
X = np.array([0.4, -0.7, 1.1])
B = np.array([0.5, -1.5, 2.0])
SKEWED = np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 0.5], [3.0, -2.0, -1.0]])
F = np.array([[1.0, 0.5, -1.0], [0.0, -2.0, 0.3], [1.5, 1.0, 0.7]])
S = np.array([2.0, -0.5, 0.0])  # indefinite, and one column that does not count


def u(x):
    return jnp.sin(x[0] * x[1]) + x[0] ** 3 * x[2] ** 2 + jnp.exp(0.5 * x[2]) * x[1] ** 4


def scalar(x):
    return jnp.sin(x[0]) + x[1] ** 2 * x[2]


def diagonal(x):
    return jnp.stack([x[1] ** 2, x[0] * x[2], jnp.cos(x[2])])


def matrix(x):
    """Neither symmetric nor definite."""
    return jnp.asarray(SKEWED) * x[0] + jnp.outer(x, jnp.sin(x))


def matvec(x):
    return lambda v: matrix(x) @ v


def low_rank(x):
    return do.operators.LowRank(jnp.asarray(F) * x[1], jnp.asarray(S))


class HasMv(eqx.Module):
    """What linear-operator libraries provide."""

    matrix: jax.Array

    def mv(self, v):
        return self.matrix @ v


def as_matrix(a, d=D):
    """A coefficient in any form as a matrix."""
    if callable(a) or hasattr(a, "mv"):
        return jax.vmap(getattr(a, "mv", a), out_axes=1)(jnp.eye(d))
    a = jnp.asarray(a, float)
    return a if a.ndim == 2 else jnp.diag(jnp.broadcast_to(a, (d,)))


def divergence_form(a, u, argnum=0, dims=None):
    """tr D(a ∇u) of the coordinates acted on; a constant or a function of the point, d of them in
    one vector or number.
    """

    def flux(*args):
        value = a(*args) if callable(a) and not hasattr(a, "mv") else a
        slope = jnp.atleast_1d(jax.grad(u, argnum)(*args))
        slope = slope if dims is None else slope[np.array(dims)]
        return as_matrix(value, slope.size) @ slope

    def apply(*args):
        jacobian = jax.jacfwd(flux, argnum)(*args)
        jacobian = jacobian.reshape(jacobian.shape[0], -1)
        return jnp.trace(jacobian if dims is None else jacobian[:, np.array(dims)])

    return apply


def close(got, expected, rtol=1e-11):
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-13)


def at_point(operator, function=u):
    """The exact value at X, compiled."""
    return jax.jit(operator.exact(function))(jnp.asarray(X))


@functools.cache
def hessian():
    return np.asarray(jax.jit(jax.hessian(u))(jnp.asarray(X)))


def contracted(C):
    """C : ∇²u at X."""
    return np.sum(C * hessian())


# Low rank

WEIGHTS = {
    "default": None,
    "positive": np.array([2.0, 0.5, 1.0]),
    "indefinite": np.array([2.0, -0.5, 1.0]),
    "with_zero": S,
    "zero": np.zeros(3),
}


LOW_RANKS = [*((name, 3) for name in WEIGHTS), ("default", 1), ("indefinite", 2)]


@pytest.mark.parametrize(("name", "columns"), LOW_RANKS)
def test_low_rank_is_its_matrix(name, columns):
    weights = None if WEIGHTS[name] is None else WEIGHTS[name][:columns]
    low = do.operators.LowRank(F[:, :columns], weights)
    s = np.ones(columns) if weights is None else weights
    C = (F[:, :columns] * s) @ F[:, :columns].T
    operator = do.SecondOrder(low)
    close(at_point(operator), contracted(C))
    assert len(operator.jets()) == 1 and operator.jets(jnp.asarray(X)).total == columns
    close(low.mv(jnp.asarray(B)), C @ B)


def test_low_rank_costs_r_jets():
    d = 1000
    low = do.operators.LowRank(jnp.ones((d, 2)))
    operator = do.SecondOrder(low)
    close(operator.exact(lambda x: jnp.sum(x) ** 2)(jnp.zeros(d)), 4 * d**2)
    eqns = jaxprs.of(operator.exact(lambda x: jnp.sum(jnp.sin(x))), jnp.ones(d))
    assert max(jaxprs.sizes(eqns)) <= 4 * d


def test_low_rank_at_each_point_costs_r_jets():
    """Beside the same matrix, which is formed: 2 directions, and not 100."""
    d, x = 100, jnp.linspace(0.1, 1.0, 100)
    columns = lambda x: jnp.stack([jnp.sin(x), x**2], axis=1)
    low = do.SecondOrder(lambda x: do.operators.LowRank(columns(x), jnp.asarray(S[:2])))
    formed = do.SecondOrder(lambda x: columns(x) @ jnp.diag(S[:2]) @ columns(x).T)
    v = lambda x: jnp.sum(jnp.tanh(x)) ** 2 + jnp.sum(jnp.sin(x[1:] * x[:-1]))
    close(low.exact(v)(x), formed.exact(v)(x))
    assert low.jets(x).total == 2
    assert max(jaxprs.sizes(jaxprs.of(low.exact(v), x))) < d * d


def test_low_rank_in_some_coordinates_of_another_argument():
    low = do.operators.LowRank(F[:2], S)
    C = np.zeros((3, 3))
    C[np.ix_([0, 2], [0, 2])] = (F[:2] * S) @ F[:2].T
    v = lambda t, x: jnp.cos(t) * u(x)
    operator = do.SecondOrder(low, argnum=1, dims=(0, 2))
    got = jax.jit(operator.exact(v))(jnp.asarray(0.3), jnp.asarray(X))
    close(got, np.cos(0.3) * contracted(C))


@pytest.mark.parametrize("build", [do.ParabolicTrace, do.Gradient], ids=lambda b: b.__name__)
def test_low_rank_as_any_matrix(build):
    C = (F * S) @ F.T
    close(at_point(build(do.operators.LowRank(F, S))), at_point(build(jnp.asarray(C))))


def test_low_rank_operators_compare_as_polynomials():
    low = do.SecondOrder(do.operators.LowRank(F[:, :1], [2.0]))
    assert low == do.SecondOrder(do.operators.LowRank(F[:, :1], [2.0]))
    assert low == do.SecondOrder(jnp.asarray(2 * F[:, :1] @ F[:, :1].T))
    assert low == 2 * do.SecondOrder(do.operators.LowRank(F[:, :1]))
    assert low != do.SecondOrder(do.operators.LowRank(F[:, :1], [3.0]))
    assert low + low == 2 * low
    with pytest.raises(TypeError, match="traced"):
        jax.jit(lambda s: low == do.SecondOrder(do.operators.LowRank(F[:, :1], s)))(jnp.ones(1))


@pytest.mark.parametrize(
    ("weights", "n"), [(S, 2), ([2.0, -0.5, 1.0], 1)], ids=["with_zero", "indefinite"]
)
def test_low_rank_sampled_columns_are_unbiased(monkeypatch, weights, n):
    weights = np.asarray(weights)
    outcomes = weighted_draws(weights * np.sum(F**2, axis=0), n)
    operator = do.SecondOrder(do.operators.LowRank(F, weights))
    got = mean_over(monkeypatch, "weighted", outcomes, operator, n, u)
    close(got, contracted((F * weights) @ F.T))


def test_low_rank_magnitudes(monkeypatch):
    """p ∝ |s_r| |f_r|²."""
    seen = []

    def weighted(key, magnitudes, n):
        seen.append(magnitudes)
        return jnp.zeros(n, int), jnp.ones(n)

    monkeypatch.setattr(sampling, "weighted", weighted)
    do.SecondOrder(do.operators.LowRank(F, S)).estimate(KEY, 2)(u)(jnp.asarray(X))
    close(seen[0], np.abs(S) * np.sum(F**2, axis=0))


@pytest.mark.parametrize("columns", [2, 3])
def test_low_rank_signs_are_unbiased(monkeypatch, columns):
    operator = do.SecondOrder(do.operators.LowRank(F[:, :columns], S[:columns]))
    C = (F[:, :columns] * S[:columns]) @ F[:, :columns].T
    outcomes = signs(columns, 1)
    got = mean_over(monkeypatch, "directions", outcomes, operator, 1, u, kind="rademacher")
    close(got, contracted(C))


def test_low_rank_gradients_through_probes(monkeypatch):
    """By the factors and by the weights, one of them zero: finite, and the exact gradient in
    expectation.
    """
    low = do.operators.LowRank(F, S)

    def gradient(operator_of):
        value = lambda low: operator_of(do.SecondOrder(low))(u)(jnp.asarray(X))
        return jax.jit(jax.grad(value))(low)

    def of_matrix(low):
        C = (low.factors * low.weights[None, :]) @ low.factors.T
        return jnp.sum(C * jnp.asarray(hessian()))

    expected = jax.grad(of_matrix)(low)
    exact = gradient(lambda L: L.exact)
    close(exact.factors, expected.factors)
    close(exact.weights, expected.weights)

    drawn = lambda: gradient(lambda L: L.estimate(KEY, 1, probes="rademacher"))
    every, p = over_all(monkeypatch, do.probes.Rademacher, "directions", signs(3, 1), drawn)
    close(np.tensordot(p, every.factors, 1), expected.factors)
    close(p @ every.weights, expected.weights)


# Divergence form: exact

CONSTANTS = {
    "number": lambda: -2.5,
    "scalar_array": lambda: jnp.asarray(0.7),
    "vector": lambda: jnp.asarray(B),
    "matrix": lambda: jnp.asarray(SKEWED),
    "numpy": lambda: SKEWED,
    "low_rank": lambda: do.operators.LowRank(F, S),
    "matvec": lambda: do.operators.MatVec(lambda v: jnp.asarray(SKEWED) @ v),
    "mv": lambda: HasMv(jnp.asarray(SKEWED)),
}
FIELDS = {
    "scalar": scalar,
    "integer": lambda x: 2,
    "diagonal": diagonal,
    "matrix": matrix,
    "matvec": matvec,
    "low_rank": low_rank,
    "mv": lambda x: HasMv(matrix(x)),
}
ALL = [*(f"constant_{name}" for name in CONSTANTS), *FIELDS]


def coefficient(name):
    """In double precision, which is not set yet where this module is imported."""
    constant = name.removeprefix("constant_")
    return CONSTANTS[constant]() if constant != name else FIELDS[name]


def field_of(name):
    """A coefficient as a function of the point."""
    a = coefficient(name)
    return a if name in FIELDS else lambda x: a


def every_form(x):
    """tr D(a ∇u) for each of ALL: the fluxes are differentiated together."""

    def fluxes(x):
        return jnp.stack([as_matrix(field_of(name)(x)) for name in ALL]) @ jax.grad(u)(x)

    return jnp.trace(jax.jacfwd(fluxes)(x), axis1=1, axis2=2)


@functools.cache
def expected_values():
    return dict(zip(ALL, np.asarray(jax.jit(every_form)(jnp.asarray(X))), strict=True))


@functools.cache
def expected_gradients():
    """At each of `points()`."""
    got = jax.jit(jax.vmap(jax.jacfwd(every_form)))(points())
    return dict(zip(ALL, np.moveaxis(np.asarray(got), 1, 0), strict=True))


def points():
    return jnp.asarray(np.stack([X, 2 * X[::-1], X - 1]))


@pytest.mark.parametrize("name", ALL)
def test_divergence_form(name):
    close(at_point(do.DivergenceForm(coefficient(name))), expected_values()[name])


def test_divergence_form_without_jit():
    close(do.DivergenceForm(matrix).exact(u)(jnp.asarray(X)), expected_values()["matrix"])


@pytest.mark.parametrize("name", ["constant_low_rank", "scalar", "matrix", "matvec"])
def test_divergence_form_under_jit_vmap_and_grad(name):
    got = jax.jit(jax.vmap(jax.grad(do.DivergenceForm(coefficient(name)).exact(u))))(points())
    close(got, expected_gradients()[name], rtol=1e-10)


@pytest.mark.parametrize("name", ["scalar", "diagonal", "matrix", "matvec"])
def test_divergence_form_of_some_coordinates(name):
    """The field sees the whole point, and its value acts on two coordinates."""
    value = FIELDS[name]
    part = {
        "scalar": value,
        "diagonal": lambda x: value(x)[1:],
        "matrix": lambda x: value(x)[1:, 1:],
        "matvec": lambda x: lambda v: matrix(x)[1:, 1:] @ v,
    }[name]
    got = at_point(do.DivergenceForm(part, dims=(0, 2)))
    close(got, jax.jit(divergence_form(part, u, dims=(0, 2)))(jnp.asarray(X)))


@pytest.mark.parametrize(
    ("name", "argnum"),
    [("scalar", 0), ("scalar", 1), ("diagonal", 1), ("matrix", 0), ("matrix", 1), ("matvec", 1)],
)
def test_fields_of_space_and_time(name, argnum):
    value = FIELDS[name]
    scaled = {"matvec": lambda x, t: lambda v: (jnp.cos(t[0]) * matrix(x)) @ v}.get(
        name, lambda x, t: (x[0] + jnp.cos(t[0])) * value(x * t)
    )
    v = lambda x, t: u(x) * jnp.sum(t**3) + t[0] * t[1] * x[0]
    args = jnp.asarray(X), jnp.asarray(B)
    got = jax.jit(do.DivergenceForm(scaled, argnum=argnum).exact(v))(*args)
    close(got, jax.jit(divergence_form(scaled, v, argnum))(*args))


def test_a_scalar_argument():
    """d = 1: ∂_t (a ∂_t u)."""
    v, a = lambda x, t: jnp.sin(t) * jnp.sum(x), lambda x, t: 1 + t**2 * x[0]
    args = jnp.asarray(X), jnp.asarray(0.6)
    got = jax.jit(do.DivergenceForm(a, argnum=1).exact(v))(*args)
    close(got, jax.jit(divergence_form(a, v, 1))(*args))


@pytest.mark.parametrize("name", ["scalar", "matrix"])
def test_pytree_arguments(name):
    tree = {"a": jnp.asarray(X[:2]), "b": jnp.asarray(X[2])}
    of_tree = lambda f: lambda tree: f(ravel_pytree(tree)[0])
    got = jax.jit(do.DivergenceForm(of_tree(FIELDS[name])).exact(of_tree(u)))(tree)
    close(got, expected_values()[name])


def test_constants_are_known_operators():
    assert do.DivergenceForm(3) == 3 * do.Laplacian()
    assert do.DivergenceForm(0.5, dims=(0, 2)) == 0.5 * do.Laplacian(dims=(0, 2))
    assert do.DivergenceForm(jnp.asarray(B)) == do.SecondOrder(jnp.asarray(B))
    assert do.DivergenceForm(SKEWED) == do.SecondOrder(SKEWED)
    assert do.DivergenceForm(do.operators.LowRank(F, S)) == do.SecondOrder(
        do.operators.LowRank(F, S)
    )


def test_fields_compare_by_the_function():
    assert do.DivergenceForm(matrix) == do.DivergenceForm(matrix)
    assert do.DivergenceForm(matrix) != do.DivergenceForm(diagonal)
    assert do.DivergenceForm(matrix) != do.Divergence() @ do.Gradient(
        matrix
    )  # that is a transposed
    assert do.DivergenceForm(matrix) + do.DivergenceForm(matrix) == 2 * do.DivergenceForm(matrix)


@pytest.mark.parametrize("name", ["scalar", "matrix"])
def test_algebra(name):
    """Sums, coefficient functions and compositions on both sides."""
    a = FIELDS[name]
    L = do.DivergenceForm(a)
    own = lambda v: divergence_form(a, v)
    lap = oracle.laplacian(D)
    c = lambda x: jnp.cos(x[1])
    pairs = [
        (L - 2 * do.Laplacian(), lambda x: own(u)(x) - 2 * lap(u)(x)),
        (c * L, lambda x: c(x) * own(u)(x)),
        (L @ (c * do.Identity()), own(lambda x: c(x) * u(x))),
        (L @ do.Laplacian(), own(lap(u))),
        (do.Laplacian() @ L, lap(own(u))),
    ]
    got, expected = jax.jit(
        lambda x: ([L.exact(u)(x) for L, _ in pairs], [f(x) for _, f in pairs])
    )(jnp.asarray(X))
    close(jnp.stack(got), jnp.stack(expected), rtol=1e-10)


def test_a_scalar_field_written_out_by_the_user():
    """div (a∇) is recognised however it was composed, where it acts on the same coordinates."""
    x = jnp.asarray(X)
    composed = do.Divergence() @ do.Gradient(scalar)
    close(at_point(composed), expected_values()["scalar"])
    forms = composed, do.DivergenceForm(scalar)
    assert [form.jets(x).coefficients for form in forms] == [D + 1, D + 1]  # ∇a·∇ is read for free
    partly = do.Divergence(dims=(0, 2)) @ do.Gradient(scalar, dims=(0, 2))
    close(at_point(partly), jax.jit(divergence_form(scalar, u, dims=(0, 2)))(x))


def test_a_scalar_field_with_a_vector_valued_function():
    """Each component by itself."""
    cubes = lambda x: jnp.sum(x**3)
    w = lambda x: jnp.stack([u(x), cubes(x)])
    other = jax.jit(divergence_form(scalar, cubes))(jnp.asarray(X))
    close(at_point(do.DivergenceForm(scalar), w), [expected_values()["scalar"], other])


def test_coefficient_functions_stay_with_a_divergence():
    """c div F, div of a gradient times a function of the point on the left: c Δ."""
    c, x = scalar, jnp.asarray(X)
    field = lambda x: jnp.stack([x[0] ** 2 * x[1], jnp.sin(x[1] * x[2]), x[0] * x[2] ** 3])
    expected = jax.jit(oracle.divergence(D)(field))(x)
    close(at_point(c * do.Divergence(), field), c(x) * expected)
    assert (c * do.Divergence()) @ do.Gradient() == c * do.Laplacian()
    mean, error, _ = jax.jit((c * do.Divergence()).estimate(KEY, 2).stats(field))(x)
    alone = jax.jit(do.Divergence().estimate(KEY, 2).stats(field))(x)
    close((mean, error), (c(x) * alone[0], abs(c(x)) * alone[1]))


# Divergence form: parameters


class Field(eqx.Module):
    parameters: jax.Array
    kind: str = eqx.field(static=True)

    def __call__(self, x):
        scale = self.parameters[0] + self.parameters[1] * jnp.sin(x[0] * self.parameters[2])
        return scale * FIELDS[self.kind](x)


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        *((kind, "exact") for kind in ("scalar", "diagonal", "matrix")),
        ("scalar", "sparse"),
        ("matrix", "sparse"),
        ("diagonal", "rademacher"),
    ],
)
def test_gradients_through_parameters(kind, method):
    x = jnp.asarray(X)

    @jax.jit
    def value(field):
        L = do.DivergenceForm(field)
        return (L.exact if method == "exact" else L.estimate(KEY, 2, probes=method))(u)(x)

    field = Field(jnp.asarray([0.3, -1.0, 2.0]), kind)
    got = jax.jit(jax.grad(value))(field).parameters
    if method == "exact":
        own = jax.jit(jax.grad(lambda field: divergence_form(field, u)(x)))
        expected = own(field).parameters
    else:  # the draw is fixed: differences of the estimate itself
        shifted = lambda i, h: value(Field(field.parameters.at[i].add(h), kind))
        expected = [(shifted(i, 1e-5) - shifted(i, -1e-5)) / 2e-5 for i in range(3)]
    np.testing.assert_allclose(
        got, jnp.stack(list(expected)), rtol=1e-11 if method == "exact" else 1e-6
    )


# Divergence form: estimated


DRAWN = ["scalar", "diagonal", "matrix", "matvec", "low_rank"]


@pytest.mark.parametrize(("name", "n"), [*((name, 2) for name in DRAWN), ("scalar", 1)])
def test_subsets_are_unbiased(monkeypatch, name, n):
    operator = do.DivergenceForm(FIELDS[name])
    got = mean_over(monkeypatch, "subset", subsets(D, n), operator, n, u)
    close(got, expected_values()[name])


@pytest.mark.parametrize("name", ["scalar", "matrix", "low_rank"])
def test_signs_are_unbiased(monkeypatch, name):
    operator, outcomes = do.DivergenceForm(FIELDS[name]), signs(D, 1)
    got = mean_over(monkeypatch, "directions", outcomes, operator, 1, u, kind="rademacher")
    close(got, expected_values()[name])


@pytest.mark.parametrize("name", ["scalar", "diagonal", "matrix"])
def test_all_terms_drawn_is_exact(name):
    E = do.DivergenceForm(FIELDS[name]).estimate(KEY, D)
    mean, error, _ = jax.jit(E.stats(u))(jnp.asarray(X))
    close(mean, expected_values()[name])
    assert float(error) == 0.0


@pytest.mark.parametrize(
    ("name", "factor"), [("scalar", "scaled"), ("diagonal", "alone"), ("matrix", "scaled")]
)
def test_the_standard_error_of_all_subsets(monkeypatch, name, factor):
    """E[standard error²] is the variance of the estimate, both over every subset of 2 of 3."""
    L = do.DivergenceForm(FIELDS[name])
    L = L if factor == "alone" else 2 * do.Laplacian() + (lambda x: jnp.exp(x[0])) * L

    def one():
        E = L.estimate(KEY, 2)
        return E(u)(jnp.asarray(X)), E.stats(u)(jnp.asarray(X))[:2]

    (values, (means, errors)), _ = over_all(monkeypatch, sampling, "subset", subsets(D, 2), one)
    close(means, values)
    close(np.mean(errors**2), np.var(values))


def test_a_sampled_inner_operator_has_no_standard_error():
    """Above an inner operator that is sampled there is none; above one of order one there is."""
    x = jnp.asarray(X)
    L = do.Laplacian() @ do.DivergenceForm(matrix)
    with pytest.raises(ValueError, match="inner operator is sampled"):
        L.estimate(KEY, 2).stats(u)(x)
    E = (do.Laplacian() @ do.Directional(lambda x: x**2)).estimate(KEY, 2)
    v = lambda x: jnp.sum(x**4)
    (mean, error, jets), alone = jax.jit(lambda x: (E.stats(v)(x), E(v)(x)))(x)
    close(mean, alone)
    assert float(error) > 0 and jets == 2


def test_biased_probes_of_products_are_refused():
    L = do.DivergenceForm(scalar) @ do.Biharmonic()
    with pytest.raises(ValueError, match="biased"):
        L.estimate(KEY, 2, probes="rademacher")


# A million coordinates: nothing as large as d × d is formed, or these would not run

LARGE = 1_000_000


def large_function(d):
    c = 1 + 0.5 * jnp.sin(jnp.arange(float(d)) * 1e-3)
    return c, lambda x: 0.5 * jnp.sum(c * x**2) + jnp.sum(x * jnp.roll(x, 1))


@pytest.mark.parametrize("kind", ["sparse", "rademacher"])
def test_a_banded_root_of_a_million_rows(kind):
    """σ = diag(s) + ½ (the shift by one)."""
    c, _ = large_function(LARGE)
    s = 1 + jnp.cos(jnp.arange(float(LARGE)) * 1e-2)
    sigma = do.operators.MatVec(lambda v: s * v + 0.5 * jnp.roll(v, 1))
    v = lambda x: 0.5 * jnp.sum(c * x**2)
    E = do.ParabolicTrace(sigma).estimate(KEY, 8, probes=kind)
    mean, error, jets = jax.jit(E.stats(v))(jnp.ones(LARGE))
    expected = 0.5 * jnp.sum(c * (s**2 + 0.25))
    assert jets == 8 and 0 < float(error) < 0.5 * float(expected)
    assert abs(float(mean - expected)) <= 5 * float(error)


@pytest.mark.parametrize("kind", ["sparse", "rademacher"])
def test_diffusion_in_a_million_dimensions(kind):
    """∇·(a∇u) with a = 1 + |x|²/d."""
    c, v = large_function(LARGE)
    x = jnp.cos(jnp.arange(float(LARGE)) * 1e-4)
    a = lambda x: 1 + jnp.mean(x**2)
    E = do.DivergenceForm(a).estimate(KEY, 8, probes=kind)
    mean, error, jets = jax.jit(E.stats(v))(x)
    slope = c * x + jnp.roll(x, 1) + jnp.roll(x, -1)
    expected = a(x) * jnp.sum(c) + 2 * jnp.mean(x * slope)
    assert jets == 9 and 0 < float(error) < 0.5 * float(expected)
    assert abs(float(mean - expected)) <= 5 * float(error)


def test_a_scalar_field_costs_the_jets_of_the_laplacian_and_one():
    """The jets of first order through the reverse mode of u would be as many as d."""
    d = 40
    network = eqx.nn.MLP(d, "scalar", 8, 1, jnp.tanh, key=KEY, dtype=jnp.float64)
    field = lambda x: 1 + jnp.mean(x**2)
    x = jnp.linspace(0, 1, d)
    assert do.DivergenceForm(field).jets(x).total == d + 1
    own, laplacian = (
        jaxprs.of(L.exact(network), x) for L in (do.DivergenceForm(field), do.Laplacian())
    )
    assert max(jaxprs.sizes(own)) <= 2 * max(jaxprs.sizes(laplacian))


# Vector-valued functions: one value, and one standard error, for each component

COMPONENTS = {
    "laplacian": do.Laplacian,
    "second_order": lambda: do.SecondOrder(jnp.asarray(SKEWED)),
    "second_order_diagonal": lambda: do.SecondOrder(jnp.asarray(B)),
    "second_order_low_rank": lambda: do.SecondOrder(do.operators.LowRank(F, B)),
    "second_order_of_point": lambda: do.SecondOrder(matrix),
    "parabolic": lambda: do.ParabolicTrace(jnp.asarray(F)),
    "parabolic_of_point": lambda: do.ParabolicTrace(diagonal),
    "divergence_form": lambda: do.DivergenceForm(scalar),
}


DENSE = [("second_order_low_rank", "rademacher"), ("divergence_form", "gaussian")]


@pytest.mark.parametrize(("name", "kind"), [*((name, "sparse") for name in COMPONENTS), *DENSE])
def test_estimates_by_component(name, kind):
    x = jnp.asarray(X)
    functions = [u, lambda x: jnp.sum(x**3) * x[0]]
    w = lambda x: jnp.stack([f(x) for f in functions])
    op = COMPONENTS[name]()

    @jax.jit
    def both(key, x):
        E = op.estimate(key, 2, probes=kind)
        return E.stats(w)(x), E(w)(x), [E.stats(f)(x) for f in functions]

    errors = []
    for key in jax.random.split(jax.random.key(12), 6):  # two draws may be equal for some
        (mean, error, jets), value, alone = both(key, x)
        assert mean.shape == error.shape == value.shape == (2,)
        close(value, mean)
        close(mean, jnp.stack([each.value for each in alone]))
        close(error, jnp.stack([each.standard_error for each in alone]))
        assert all(each.jets == jets for each in alone)
        errors.append(error)
    assert np.any(np.asarray(errors) > 0, axis=0).all()


# Operators of lineax


def lineax_operators(lx):
    size = jax.ShapeDtypeStruct((D,), jnp.float64)
    A, b = jnp.asarray(SKEWED), jnp.asarray(B)
    return [
        (lx.MatrixLinearOperator(A), A),
        (lx.DiagonalLinearOperator(b), jnp.diag(b)),
        (lx.IdentityLinearOperator(size), jnp.eye(D)),
        (lx.FunctionLinearOperator(lambda v: A @ v, size), A),
        (lx.MatrixLinearOperator(A @ A.T, lx.positive_semidefinite_tag), A @ A.T),
        (2 * lx.MatrixLinearOperator(A) + lx.DiagonalLinearOperator(b), 2 * A + jnp.diag(b)),
    ]


BUILDS = [do.SecondOrder, do.ParabolicTrace, do.Gradient, do.DivergenceForm]


@pytest.mark.parametrize("build", BUILDS, ids=lambda b: b.__name__)
def test_lineax_operators(build):
    lx = pytest.importorskip("lineax")
    x = jnp.asarray(X)
    table = lineax_operators(lx)

    def every(x):
        values = [(build(a).exact(u)(x), build(full).exact(u)(x)) for a, full in table]
        for a, full in table[:2]:
            of_point = build(lambda x, a=a: a).exact(u)(x)
            values.append((of_point, build(full).exact(u)(x)))
        a, full = table[-1]
        values.append((build(a).estimate(KEY, D).exact(u)(x), build(full).exact(u)(x)))
        return values

    for got, expected in jax.jit(every)(x):
        close(got, expected)


@pytest.mark.parametrize("build", BUILDS, ids=lambda b: b.__name__)
def test_anything_with_products(build):
    """The same without lineax."""
    x, full = jnp.asarray(X), jnp.asarray(SKEWED)

    def every(A):
        value = lambda wrap: lambda A: build(wrap(A)).exact(u)(x)
        forms = [value(wrap) for wrap in (jnp.asarray, HasMv, lambda A: lambda x: HasMv(A))]
        total = lambda form: lambda A: jnp.sum(form(A))
        return [form(A) for form in forms], [jax.grad(total(form))(A) for form in forms[:2]]

    (expected, *values), (slope, other) = jax.jit(every)(full)
    for value in values:
        close(value, expected)
    close(other, slope)


# Errors


def at(operator):
    return operator.exact(u)(jnp.asarray(X))


test_errors = refusals(
    {
        r"factors.*\(3,\)": lambda: do.operators.LowRank(B),
        r"\(3,\).*\(2,\)": lambda: do.operators.LowRank(F, B[:2]),
        r"\(3,\).*\(3, 3\)": lambda: do.operators.LowRank(F, F),
        r"LowRank.*shape \(3, 3\).*\(2, 3\)": lambda: at(
            do.SecondOrder(do.operators.LowRank(F[:2]))
        ),
        r"square.*\(2, 3\)": lambda: do.DivergenceForm(F[:2]),
        "DivergenceForm": lambda: do.DivergenceForm(np.ones((3, 3, 3))),
        r"a of DivergenceForm must have shape.*\(2,\)": lambda: at(do.DivergenceForm(B[:2])),
        r"a of DivergenceForm.*\(3,\).*\(2,\)": lambda: at(do.DivergenceForm(lambda x: x[:2])),
        r"a of DivergenceForm.*\(3, 3\).*\(3, 2\)": lambda: at(
            do.DivergenceForm(lambda x: jnp.ones((3, 2)))
        ),
        "argnum.*-1": lambda: do.DivergenceForm(1.0, argnum=-1),
        "coordinate 7": lambda: at(do.DivergenceForm(scalar, dims=(0, 7))),
    },
    {
        "factors of LowRank.*str": lambda: do.operators.LowRank("F"),
        "factors of LowRank.*real.*complex128": lambda: do.operators.LowRank(1j * F),
        "weights of LowRank.*real.*complex128": lambda: do.operators.LowRank(F, 1j * B),
        "a of DivergenceForm.*str": lambda: do.DivergenceForm("one"),
        "a of DivergenceForm.*real.*complex128": lambda: do.DivergenceForm(1j * B),
    },
)

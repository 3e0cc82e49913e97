"""Operators by plans: asked for by name, written by hand; and what is shared."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.probes import sampling

from .. import jaxprs, oracle

pytestmark = pytest.mark.usefixtures("x64")

D = 3
X = np.array([0.4, -0.7, 1.1])
J = do.schemes.Jet({2: 0, 3: 1})


def u(x):
    return jnp.sin(x[0] * x[1]) + x[0] ** 3 * x[2] ** 2 + jnp.exp(0.5 * x[2]) * x[1] ** 4


def of_two(x, t):
    return jnp.sin(t * x[0]) * jnp.exp(x[1] * t)


def test_a_scheme_by_hand():
    scheme = do.schemes.Scheme({(0, 0, 1): J[7] / 105, (0, 0): J[4] / 3})
    by_scheme = do.exact([do.Mixed({0: 2, 1: 1}), do.Partial(0, 2)])(u, plan=scheme)
    nested = [oracle.mixed(D, alpha)(u) for alpha in ({0: 2, 1: 1}, {0: 2})]
    got, expected = jax.jit(lambda x: (by_scheme(x), [f(x) for f in nested]))(jnp.asarray(X))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_scheme_across_arguments():
    """u_tx by the curve with v_1 = e_x, v_2 = e_t: order 3 is u_xxx + 3 u_tx."""
    x, t = (0, 0), (1, 0)
    curve = do.schemes.Jet({1: x, 2: t})
    scheme = do.schemes.Scheme({(x, t): (curve[3] - do.schemes.Jet({1: x})[3]) / 3})
    args = (jnp.array([0.3, -0.2]), jnp.array(0.7))
    by_scheme = do.Mixed({x: 1, t: 1}).exact(of_two, plan=scheme)
    nested = jax.jacfwd(jax.grad(of_two), argnums=1)
    got, mixed = jax.jit(lambda *args: (by_scheme(*args), nested(*args)[0]))(*args)
    np.testing.assert_allclose(got, mixed, rtol=1e-12)


@pytest.mark.parametrize("kind", ["auto", "nested", "power", do.baselines.paper])
def test_every_plan_of_sums_of_terms(kind):
    operator = do.TensorOperator([{0: 2, 1: 1}, {1: 2, 2: 1}, {0: 1, 2: 3}], [1.0, -2.0, 0.5])
    expected = oracle.terms(D, [{0: 2, 1: 1}, {1: 2, 2: 1}, {0: 1, 2: 3}], [1.0, -2.0, 0.5])
    both = lambda x: (operator.exact(u, plan=kind)(x), expected(u)(x))
    got, nested = jax.jit(both)(jnp.asarray(X))
    np.testing.assert_allclose(got, nested, rtol=1e-11)


@pytest.mark.parametrize("kind", ["auto", "power"])
def test_a_power_whose_scheme_nobody_would_read(kind):
    table = str((do.Laplacian() ** 20).jets(plan=kind))
    assert "Δ²⁰       40     C(d+19, 20)" in table and "plan" not in table


REFUSED = {
    "unknown": (
        do.Mixed({0: 1, 1: 1}),
        "fastest",
        "must be one of auto, nested, power, a diffop.schemes.Scheme, or a function",
    ),
    "the paper's by name": (do.Mixed({0: 1, 1: 1}), "paper", "is diffop.baselines.paper"),
    "missing": (do.Mixed({0: 1, 1: 1}), do.schemes.Scheme({(0, 0, 1): J[7] / 105}), "but not ∂₀∂₁"),
    "names": (
        do.Mixed({0: 2, 1: 1}),
        do.schemes.Scheme({"iij": do.schemes.Jet({2: "i", 3: "j"})[7] / 105}),
        "has coordinates for variables",
    ),
    "sums": (
        do.TensorOperator([{0: 2, 1: 1}, {1: 2, 2: 1}], [1.0, 1.0]),
        do.schemes.Scheme({(0, 0, 1): J[7] / 105}),
        "for a sum of terms choose one of",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_plans_are_refused(name):
    operator, plan, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        operator.exact(u, plan=plan)(jnp.asarray(X))


def test_functions_are_plans_of_all_derivatives_together():
    """One is asked once for what all operators want, by argument and coordinate."""
    asked = []

    def by_paper(wanted):
        asked.append(wanted)
        return do.baselines.paper(wanted)

    ops = {"x": do.Partial(0), "xxy": do.Mixed({0: 2, 1: 1}), "xx": do.Partial(0, order=2)}
    got = do.exact(ops)(u, plan=by_paper)(jnp.asarray(X))
    expected = do.exact(ops)(u, plan="nested")(jnp.asarray(X))
    assert asked == [((((0, 0), 1),), (((0, 0), 2), ((0, 1), 1)), (((0, 0), 2),))]
    for name in ops:
        np.testing.assert_allclose(got[name], expected[name], rtol=1e-10)


def test_functions_that_make_no_scheme_are_refused():
    with pytest.raises(
        TypeError, match=r"makes a diffop.schemes.Scheme of the derivatives.* got None"
    ):
        do.Mixed({0: 1, 1: 1}).exact(u, plan=lambda wanted: None)(jnp.asarray(X))


def test_plans_print_how_derivatives_are_read():
    text = str(do.Mixed({0: 2, 1: 1}).jets())
    assert "plan nested, rounding × 1\n" in text
    assert "∂₀²∂₁ = J₁[2,1]" in text
    text = str(do.Mixed({0: 2, 1: 1}).jets(plan=do.baselines.paper))
    assert "v[2] = e₀, v[3] = e₁, order 7" in text and "∂₀²∂₁ = 1/105 J₁[7]" in text


def test_common_plans_print_too():
    ops = {"x": do.Partial(0), "tx": do.Mixed({0: 1, 1: 1}), "lap": do.Laplacian()}
    text = str(do.exact(ops).jets())
    assert "∂₀∂₁ = J₁[1,1]" in text and "∂₀ = J₁[1,0]" in text
    assert any(line.startswith("Δ") for line in text.splitlines())
    assert do.exact(ops).jets(jnp.asarray(X)).total == 1 + D
    assert "2 draws" in str(do.estimate(ops, jax.random.key(0), 2).jets())


def contractions(function, *args):
    counts = jaxprs.count(jaxprs.of(function, *args))
    return counts["dot_general"]


def network(width=8):
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(width, D)), rng.normal(size=(width, width))

    def u(x):
        return jnp.sum(jnp.tanh(second @ jnp.tanh(first @ x)))

    return u


def test_derivatives_of_a_residual_share_one_jet():
    """Behind the first layer there is one product for the primal and for each of ten divisors."""
    ops = {
        "x": do.Partial(0),
        "y": do.Partial(1),
        "xx": do.Partial(0, 2),
        "xy": do.Mixed({0: 1, 1: 1}),
        "yy": do.Partial(1, 2),
        "ty": do.Mixed({1: 1, 2: 1}),
        "xxxy": do.Mixed({0: 3, 1: 1}),
    }
    function = do.exact(ops)(network())
    assert contractions(function, jnp.asarray(X)) == 11 + 1  # and the first layer's own


def test_sampled_residual_and_its_derivative_share_directions():
    """{s, s², t, st, s²t} for both, where the Laplacian alone needs {s, s²}."""
    ops = {"lap": do.Laplacian(), "along": do.Partial(1) @ do.Laplacian()}
    key = jax.random.key(0)

    def products(chosen):
        function = do.estimate(chosen, key, 2)(network())
        return contractions(function, jnp.asarray(X))

    alone = products({"lap": ops["lap"]})
    assert products(ops) - alone == 4  # t, st, s²t, and W e_t


def test_traced_coordinates(monkeypatch):
    """∂_jΔ for a traced j, exact and, averaged over all subsets, estimated."""

    @jax.jit
    def both(j, x):
        ops = {"along": do.Partial(j) @ do.Laplacian(), "j": do.Partial(j), "lap": do.Laplacian()}

        def estimated(subset):
            monkeypatch.setattr(sampling, "subset", lambda *_: subset)
            return do.estimate(ops, jax.random.key(0), 2)(u)(x)["along"]

        subsets = jnp.array([[0, 1], [0, 2], [1, 2]])
        return do.exact(ops)(u)(x), jax.vmap(estimated)(subsets)

    laplacian = lambda x: jnp.trace(jax.hessian(u)(x))
    slopes = jax.jit(lambda x: [jax.grad(f)(x) for f in (laplacian, u)])(jnp.asarray(X))
    for j, (expected, slope) in enumerate(zip(*slopes, strict=True)):
        exact, estimates = both(jnp.array(j), jnp.asarray(X))
        np.testing.assert_allclose(exact["along"], expected, rtol=1e-12)
        np.testing.assert_allclose(exact["j"], slope, rtol=1e-12)
        np.testing.assert_allclose(np.mean(estimates), expected, rtol=1e-12)


def test_traced_coordinates_are_integers():
    with pytest.raises(TypeError, match="must be an integer or a 0-d integer array"):
        jax.jit(lambda j: do.Partial(j).exact(u)(jnp.asarray(X)))(jnp.array(1.0))


def test_pairs_in_high_dimension():
    """Σ_{i<j} ∂_i²∂_j² of Σ x_i² Σ x_j² is 4 for each pair, whichever pairs are drawn."""
    d = 1500
    i, j = np.triu_indices(d, 1)
    operator = do.TensorOperator.from_coordinates(np.stack([i, i, j, j], axis=1), np.ones(i.size))
    assert i.size > 1_000_000

    def quartic(x):
        return jnp.sum(x**2) ** 2 / 2

    estimate = operator.estimate(jax.random.key(0), 4)
    x = jnp.linspace(-1.0, 1.0, d)
    np.testing.assert_allclose(estimate(quartic)(x), 4.0 * i.size, rtol=1e-12)
    (jets,) = estimate.jets(x)
    assert jets.output == (2, 2) and jets.size == 4


def symbol_at(pushes, xi):
    """What jets are as a polynomial in ∂, at ∂ = ξ: Σ_r w_r Π_j (v_rj·ξ)^{p_j}, times that of the
    function through which they are pushed.
    """
    total = 0.0
    for push in pushes:
        inside = symbol_at(push.inside, xi) if push.inside else 1.0
        for _, jets in push.named:
            products = np.asarray(jets.weights)
            for slot, power in zip(jets.slots, jets.output, strict=True):
                along = np.asarray(slot[0].values) * xi[np.asarray(slot[0].positions)]
                products = products * np.sum(along, axis=1) ** power
            total += products.sum() * inside
    return total


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("m", [2, 3, 4, 6])
def test_powers_of_the_laplacian_as_polynomials(m, d):
    xi = np.random.default_rng(m).normal(size=d)
    for kind in ("auto", "power") if m < 4 else ("auto",):
        plan = do.PolyLaplacian(m).jets(jnp.ones(d), plan=kind)
        np.testing.assert_allclose(symbol_at(plan.pushes, xi), (xi @ xi) ** m, rtol=1e-11)


@pytest.mark.parametrize(
    "m, d, carried", [(2, 2, 8), (2, 3, 13), (2, 5, 26), (3, 2, 15), (3, 3, 29)]
)
def test_how_many_coefficients_powers_of_the_laplacian_take(m, d, carried):
    """Polynomials of each degree up to m, by d coordinates, and as many of 2m less that degree."""
    numbers = [math.comb(k + d - 1, k) for k in range(m + 1)]
    assert carried == sum(numbers) + sum(numbers[:-1]) - 1
    assert do.PolyLaplacian(m).jets(jnp.ones(d)).coefficients == carried


def test_rows_of_products_of_power_sums():
    (row,) = do.Biharmonic().jets()
    assert (row.terms, row.directions, row.jets) == ("d(d+1)/2", "eᵢ", "1")
    assert row.method == "exact, up to 64 coefficients as one polynomial"
    (row,) = do.Biharmonic().jets(plan="nested")
    assert (row.terms, row.jets, row.method) == ("d(d+1)/2", "1", "exact")


def test_products_of_even_power_sums():
    fourth, second = do.DiagonalK(4, dims=(0, 2, 3)), do.Laplacian(dims=(0, 2, 3))
    jets = (fourth @ second @ fourth).jets(jnp.ones(5))
    xi = np.random.default_rng(0).normal(size=5)
    own = xi[[0, 2, 3]]
    np.testing.assert_allclose(
        symbol_at(jets.pushes, xi), (own**4).sum() ** 2 * (own @ own), rtol=1e-12
    )


def test_a_high_power_of_the_laplacian():
    k = np.array([0.7, -0.4, 0.9])
    got = jax.jit(do.PolyLaplacian(7).exact(lambda x: jnp.sin(k @ x)))(X)
    np.testing.assert_allclose(got, -((k @ k) ** 7) * np.sin(k @ X), rtol=1e-12)


OF_POINT = {
    "matrix": do.SecondOrder(lambda x: jnp.diag(x) + 1),
    "terms": do.TensorOperator([{0: 2}, {0: 1, 1: 1}], lambda x: x[:2]),
    "columns": do.ParabolicTrace(
        lambda x: do.operators.SparseColumns(np.zeros((3, 1), int), x[:, None], 3)
    ),
    "product": do.ParabolicTrace(lambda x: do.operators.MatVec(lambda v: x * v)),
    "flux": do.DivergenceForm(lambda x: 1 + jnp.sum(x)),
    "sum": do.Laplacian() + do.Directional(lambda x: x),
    "estimate": do.SecondOrder(lambda x: jnp.diag(x)).estimate(jax.random.key(0), 2),
}


@pytest.mark.parametrize("name", OF_POINT)
def test_coefficients_of_the_point_from_its_shape(name):
    """The plan at a shape is that at a point, but for the values of arrays."""
    operator = OF_POINT[name]
    at_shape = operator.jets(jax.ShapeDtypeStruct((3,), jnp.float32))
    at_point = operator.jets(jnp.ones(3, jnp.float32))
    assert str(at_shape) == str(at_point)
    leaves = [jax.tree.leaves(plan.jets) for plan in (at_shape, at_point)]
    for shape, array in zip(*leaves, strict=True):
        assert (shape.shape, shape.dtype) == (array.shape, array.dtype)


FUNCTION = lambda x: jnp.prod(jnp.sin(x)) + jnp.sum(x**4)
KEY = jax.random.key(0)
LAPLACIAN = do.Laplacian()
FORMS = {
    "exact": LAPLACIAN.exact,
    "exact, several": do.exact([LAPLACIAN]),
    "estimate": LAPLACIAN.estimate(KEY, 3),
    "estimate, statistics": LAPLACIAN.estimate(KEY, 3).stats,
    "estimates": do.estimate([LAPLACIAN], KEY, 3),
    "estimates, statistics": do.estimate([LAPLACIAN], KEY, 3).stats,
    "estimates, draws": do.estimate([LAPLACIAN], KEY, 3).draws,
    "accuracy": LAPLACIAN.estimate_to(KEY, 0.1, batch=8, max_n=32),
    "controlled": LAPLACIAN.estimate(KEY, 3).controlled(lambda x: jnp.sum(x**2)),
    "controlled, statistics": LAPLACIAN.estimate(KEY, 3).controlled(lambda x: jnp.sum(x**2)).stats,
    "deflated": LAPLACIAN.deflate(KEY, 4),
    "deflated, statistics": LAPLACIAN.deflate(KEY, 4).stats,
}


@pytest.mark.parametrize("name", FORMS)
def test_chunks_and_plans_stand_beside_u(name):
    """Chunks are a loop, and change nothing else; plans are checked when u is given."""
    x = jnp.linspace(0.1, 1.0, 6)
    plain, chunked = FORMS[name](FUNCTION), FORMS[name](FUNCTION, chunk=1, plan="nested")
    got, expected = jax.jit(lambda x: (chunked(x), plain(x)))(x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-10), got, expected)
    loops = [str(jax.make_jaxpr(form)(x)).count("scan[") for form in (chunked, plain)]
    assert loops[0] > loops[1]
    with pytest.raises(ValueError, match="chunk must be at least 1; got 0"):
        FORMS[name](FUNCTION, chunk=0)
    with pytest.raises(ValueError, match="plan must be one of"):
        FORMS[name](FUNCTION, plan="best")

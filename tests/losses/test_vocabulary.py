"""One loss: a PINN's is that of training at points that are given, data included."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.losses.squares import data_key
from diffop.streams import stream

from .. import nested
from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(4)
LOWER, UPPER = [-1.0, -1.0], [1.0, 1.0]


def u(x):
    return jnp.sin(2 * x[0]) * jnp.exp(x[1])


def source(x):
    return x[0] * x[1]


def edges(key, count):
    points = do.pde.points_on_box(key, count, LOWER, UPPER)
    slopes = do.equations.Condition(do.Partial(1), points, jnp.ones(count), 3.0)
    return [do.equations.Condition(do.Identity(), points, jnp.zeros(count)), slopes]


def box(key, count):
    return do.pde.points_in_box(key, count, LOWER, UPPER)


POISSON = do.equations.Equation.linear(do.Laplacian(), source, conditions=edges)


def written_out(points, data, data_weight=1.0, gpinn=0.0):
    """With nested autodiff."""

    square = nested.enhanced(lambda x: nested.laplacian(u)(x) - source(x), gpinn)
    missed = jax.vmap(u)(data) ** 2 + 3 * (jax.vmap(lambda x: jax.grad(u)(x)[1])(data) - 1) ** 2
    return jnp.mean(jax.vmap(square)(points)) + data_weight * jnp.mean(missed)


@pytest.mark.parametrize("gpinn", [0.0, 0.3])
def test_a_pinn_has_the_data_of_its_equation(gpinn):
    points, pinn = box(KEY, 5), do.nn.PINN(u, POISSON)
    options = {"data_weight": 2.0, "gpinn": gpinn}

    @jax.jit
    def every(key):
        one = pinn.loss(points, **options, data_batch=7)
        other = pinn.loss(points, key, probes="exact", **options, gpinn_terms=2)
        ends = edges(data_key(jax.random.key(0)), 7), edges(data_key(key), 5)
        return (one, other), [written_out(points, first.points, **options) for first, _ in ends]

    got, expected = every(KEY)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("square", ["biased", "product", "pairs"])
def test_a_pinn_has_the_loss_of_training(square):
    """With the same points, data and jets."""
    options = {"square": square, "data_weight": 2.0, "gpinn": 0.3, "gpinn_terms": 1, "n": 2}
    own = do.losses.ResidualLoss(POISSON, 5, probes="sparse", points=box, **options)
    jets_key, data = stream(KEY, "jets"), edges(stream(KEY, "conditions"), 5)
    equation = do.equations.Equation.linear(do.Laplacian(), source, conditions=data)
    pinn = do.nn.PINN(u, equation)
    points = box(stream(KEY, "points"), 5)
    both = jax.jit(lambda: (own(u, KEY), pinn.loss(points, jets_key, probes="sparse", **options)))
    np.testing.assert_allclose(*both(), rtol=1e-12)


def test_points_that_are_given_are_those_of_each_call():
    points, ends = box(KEY, 6), edges(KEY, 3)
    equation = do.equations.Equation.linear(do.Laplacian(), source, conditions=ends)
    loss = do.losses.ResidualLoss(equation, probes="exact", points=points, data_weight=5.0)
    call = jax.jit(lambda key: (loss(u, key), written_out(points, ends[0].points, 5.0)))
    for seed in (0, 1):
        np.testing.assert_allclose(*call(jax.random.key(seed)), rtol=1e-12)


def test_a_problem_may_be_trained_at_other_points():
    problem = do.pde.ManyBody("allen-cahn", 2, 3, key=KEY)
    points = problem.sample(KEY, 4)
    loss = do.losses.ResidualLoss(problem, probes="exact", points=points)
    pinn = do.nn.PINN(problem.solution, problem, lambda net: net)
    same = jax.jit(lambda u: (loss(u, KEY), pinn.loss(points)))
    np.testing.assert_allclose(*same(jax.tree_util.Partial(problem.solution)), atol=1e-20)


@pytest.mark.parametrize(("probes", "gpinn"), [("exact", 0.0), ("sparse", 0.3)])
def test_squares_of_the_residuals_add_up_to_the_loss(probes, gpinn):
    loss = do.losses.ResidualLoss(
        POISSON, 5, 2, probes, 2.0, gpinn, 1, points=box, data_batch=3, weights=4.0
    )
    found, terms = jax.jit(lambda key: (loss.residuals(u, key), loss.terms(u, key)))(KEY)
    assert found.keys() == terms.keys() == {"residual", "data"} | ({"gpinn"} if gpinn else set())
    for name, term in terms.items():
        squares = sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(found[name]))
        np.testing.assert_allclose(squares, term, rtol=1e-12)
    assert found["residual"].shape == (5,)
    assert [missed.shape for missed in found["data"]] == [(3,), (3,)]


def test_residuals_of_complex_and_vector_valued_functions():
    """i u'' + u − 1 of u = x² and 3x², and what a gradient misses: by their magnitudes."""
    points = np.linspace(-1, 1, 4)[:, None]
    wanted = do.equations.Condition(do.Gradient(), jnp.asarray(points), jnp.ones((4, 2, 1)), 0.5)
    equation = do.equations.Equation(
        {"u": do.Identity(), "u_xx": do.Partial(0) @ do.Partial(0)},
        lambda v, x: {"both": jax.lax.complex(v["u"] - 1, v["u_xx"])},
        conditions=[wanted],
    )
    pair = lambda x: jnp.stack([x[0] ** 2, 3 * x[0] ** 2])
    loss = do.losses.ResidualLoss(equation, probes="exact", points=jnp.asarray(points))
    found, value = jax.jit(lambda: (loss.residuals(pair, KEY), loss(pair, KEY)))()
    x = points[:, 0]
    expected = (x**2 - 1) ** 2 + 4 + (3 * x**2 - 1) ** 2 + 36
    expected += 0.5 * ((2 * x - 1) ** 2 + (6 * x - 1) ** 2)
    squares = sum(np.sum(np.abs(leaf) ** 2) for leaf in jax.tree.leaves(found))
    np.testing.assert_allclose([squares, value], np.mean(expected), rtol=1e-12)


class Counted(eqx.Module):
    """A condition of another kind."""

    def misfit(self, u):
        return u(jnp.zeros(2)) ** 2


def test_other_conditions_have_a_misfit():
    equation = do.equations.Equation(do.Identity(), lambda v, x: 0 * v, conditions=[Counted()])
    loss = do.losses.ResidualLoss(equation, probes="exact", points=np.ones((2, 2)))
    np.testing.assert_allclose(loss(lambda x: 3.0 + x[0], KEY), 9.0)
    with pytest.raises(TypeError, match=r"a method residuals\(u\), .*, got a Counted without; giv"):
        loss.residuals(lambda x: 3.0 + x[0], KEY)


def test_residuals_are_of_sums_of_squares():
    loss = do.losses.ResidualLoss(POISSON, 5, 2, "sparse", points=box, square="pairs")
    with pytest.raises(ValueError, match="those of the square 'biased', got 'pairs', which is no"):
        loss.residuals(u, KEY)


def system(names):
    """Residuals 1, 2 and 3 of anything."""

    def residual(v, x):
        found = 0 * v + jnp.arange(1.0, 4.0)
        return {"mass": found[0], "momentum": found[1:]} if names else found

    return do.equations.Equation(do.Identity(), residual)


@pytest.mark.parametrize(
    ("names", "weights", "expected"),
    [
        (True, {"mass": 5.0, "momentum": 0.5}, 5 + 0.5 * (4 + 9)),
        (True, {"mass": 5, "momentum": jnp.array([2.0, 1.0])}, 5 + 2 * 4 + 9),
        (False, [5, 2, 1], 5 + 2 * 4 + 9),
        (False, 2.0, 2 * 14),
        (False, None, 14),
    ],
)
def test_weights_of_a_system(names, weights, expected):
    loss = do.losses.ResidualLoss(
        system(names), probes="exact", points=np.ones((2, 2)), weights=weights
    )
    pinn = do.nn.PINN(u, system(names))
    both = jax.jit(lambda: (loss(u, KEY), pinn.loss(jnp.ones((2, 2)), weights=weights)))
    np.testing.assert_allclose(both(), [expected] * 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("names", "weights", "message"),
    [
        (True, {"mass": 1.0, "energy": 2.0}, "have 'energy', 'mass', and the .* has 'mass', 'mom"),
        (
            True,
            {"mass": 1.0},
            r"have 'mass', and .* 'mass', 'momentum' of shape \(2,\); give a number",
        ),
        (True, 2.0, "have one number, and the residual of the equation has 'mass', 'momentum'"),
        (False, {"mass": 1.0}, r"have 'mass', and .* has an array of shape \(3,\)"),
        (False, [1.0, 2.0], r"have an array of shape \(2,\), and .* of shape \(3,\); give"),
    ],
)
def test_weights_of_other_names(names, weights, message):
    points = np.ones((2, 2))
    loss = do.losses.ResidualLoss(system(names), probes="exact", points=points, weights=weights)
    with pytest.raises(ValueError, match=f"the weights {message}"):
        jax.eval_shape(lambda: loss(u, KEY))


def test_weights_of_conditions():
    """One for each, in their order."""
    options = {"probes": "exact", "points": np.ones((2, 2)), "data_batch": 5}
    weighted = do.losses.ResidualLoss(POISSON, **options, data_weight=[2.0, 0.5])

    @jax.jit
    def every():
        values, slopes = POISSON.conditions(stream(KEY, "conditions"), 5)
        parts = [part(u) for part in weighted.pointwise(u, KEY)["data"]]
        listed = parts, weighted.residuals(u, KEY)["data"]
        squares = [sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)) for tree in listed]
        found = [weighted.terms(u, KEY)["data"], *squares]
        return found, 2 * values.misfit(u) + 0.5 * slopes.misfit(u)

    found, expected = every()
    np.testing.assert_allclose(found, [expected] * 3, rtol=1e-12)
    pinn = do.nn.PINN(u, POISSON)
    with pytest.raises(ValueError, match=r"data_weight has 3 numbers, and the equation 2 condit"):
        pinn.loss(jnp.ones((2, 2)), data_weight=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("pool", [1, 2])
def test_pairs_of_operators_on_vectors(pool):
    """Of u = (x², y²): R = ∇·u + Δu₀ = 2x + 2y + 2, with both of two terms of Δ no variance."""

    def residual(v, x):
        return {"whole": v["div"] + v["lap"][0]}

    equation = do.equations.Equation({"div": do.Divergence(), "lap": do.Laplacian()}, residual)
    loss = do.losses.ResidualLoss(equation, 4, 2, "sparse", points=box, square="pairs", pool=pool)
    exact = do.losses.ResidualLoss(equation, 4, probes="exact", points=box, pool=pool)
    pair = lambda x: x**2
    got, expected = jax.jit(lambda: (loss(pair, KEY), exact(pair, KEY)))()
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    if pool == 1:
        points = box(stream(KEY, "points"), 4)
        np.testing.assert_allclose(got, np.mean((2 * points.sum(1) + 2) ** 2), rtol=1e-12)


def residual_loss(residual):
    operators = {"lap": do.Laplacian(), "value": do.Identity()}
    equation = do.equations.Equation(operators, residual)
    loss = do.losses.ResidualLoss(equation, 5, probes="exact", points=box)
    return jax.eval_shape(lambda: loss(u, KEY))


test_bad_input = refusals(
    {
        "expects points for an equation without a domain to draw them from: an arr": lambda: (
            do.losses.ResidualLoss(POISSON, 5, probes="exact")
        ),
        "a batch, the number of points of a call, got None; say for instance batch=100": lambda: (
            do.losses.ResidualLoss(POISSON, probes="exact", points=box)
        ),
        r"no batch or pool beside them, got batch=5 .*, or diffop.pde.PointCloud": lambda: (
            do.losses.ResidualLoss(POISSON, 5, probes="exact", points=np.ones((4, 2)))
        ),
        r"points of shape \(count, d\), .*, got shape \(2,\); one point is x\[None\]": lambda: (
            do.losses.ResidualLoss(POISSON, probes="exact", points=np.ones(2))
        ),
        "n, the number of draws of jets, must be at least 1; got 0": lambda: do.losses.ResidualLoss(
            POISSON, 5, n=0, points=box
        ),
        "expects n, the number of draws .*, for the probes 'sparse', or probes=\"exact\"": lambda: (
            do.losses.ResidualLoss(POISSON, 5, points=box)
        ),
        "batch of ResidualLoss must be at least 1; got 0": lambda: do.losses.ResidualLoss(
            POISSON, 0, probes="exact", points=box
        ),
        "the residual asks for 'lpa'; the values that it is given are 'lap', 'value'": lambda: (
            residual_loss(lambda v, x: v["lpa"])
        ),
        "the residual must return a number for each equation, .*; got None of type None": lambda: (
            residual_loss(lambda v, x: None)
        ),
        "the residual must return a number for each equation, .*; got 'b' of type str": lambda: (
            residual_loss(lambda v, x: {"a": v["lap"], "b": "b"})
        ),
    },
    {
        "ResidualLoss expects a diffop.equations.Equation, or a problem .*, got a Lap": lambda: (
            do.losses.ResidualLoss(do.Laplacian(), 5, probes="exact")
        ),
        "pool of ResidualLoss must be an integer; got 1.5 of type float": lambda: (
            do.losses.ResidualLoss(POISSON, 5, probes="exact", points=box, pool=1.5)
        ),
    },
)


@pytest.mark.parametrize(("probes", "gpinn"), [("exact", 0.5), ("sparse", 0.0)])
def test_residuals_by_points_are_the_residuals(probes, gpinn):
    """In the same order where all are at points, and their functions are of other u."""
    loss = do.losses.ResidualLoss(
        POISSON, 5, 1, probes, 2.0, gpinn, gpinn_terms=2, points=box, data_batch=4
    )
    other = lambda x: jnp.cos(x[0] * x[1])  # noqa: E731

    @jax.jit
    def both():
        found = loss.pointwise(u, KEY)
        return {name: [each(other) for each in parts] for name, parts in found.items()}

    expected = jax.jit(lambda: loss.residuals(other, KEY))()
    for name, parts in both().items():
        got, asked = (
            np.sort(np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)]))
            for tree in (parts, expected.pop(name))
        )
        np.testing.assert_allclose(got, asked, rtol=1e-12, atol=1e-14)
    assert not expected


def test_a_condition_without_points_is_one():
    class Mean:
        def misfit(self, u):
            return self.residuals(u) ** 2

        def residuals(self, u):
            return u(jnp.ones(2)) - 3.0

    equation = do.equations.Equation.linear(
        do.Laplacian(), source, conditions=lambda key, count: [Mean()]
    )
    loss = do.losses.ResidualLoss(equation, 5, probes="exact", data_weight=4.0, points=box)
    (part,) = loss.pointwise(u, KEY)["data"]
    (missed,) = part(u)
    np.testing.assert_allclose(missed, [2 * (u(jnp.ones(2)) - 3.0)], rtol=1e-12)


def test_residuals_by_points_are_of_sums_of_squares():
    loss = do.losses.ResidualLoss(POISSON, 5, 4, "sparse", square="pairs", points=box)
    with pytest.raises(ValueError, match="residuals are those of the square 'biased', got 'pairs'"):
        loss.pointwise(u, KEY)

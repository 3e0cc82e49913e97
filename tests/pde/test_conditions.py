"""Conditions on parts of a boundary, beside derivatives by nested autodiff in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)

SQUARE = do.pde.Box((0.0, -1.0), (2.0, 1.0))
WALL = SQUARE.face(0, "lower")
BALL = do.pde.Ball(3, radius=2.0)
ROD = do.pde.SpaceTime(do.pde.Box((0.0,), (2.0,)), 3.0)
COUNT = 12


def u(x):
    return jnp.sin(x[0] + 0.5) * jnp.exp(0.3 * x[1]) + x[-1] ** 2


def flow(x):
    return jnp.stack([u(x), x[0] * x[1] ** 2, jnp.cos(x[0] - x[1])])


def normal_derivative(function, normal):
    return lambda x: jax.jacfwd(function)(x) @ normal(x)


def constant(*normal):
    return lambda x: jnp.array(normal)


def outward(x):
    return x / jnp.linalg.norm(x)


def time_derivative(function):
    return lambda x: jax.jacfwd(function)(x)[..., -1]


CASES = {
    "dirichlet": (do.pde.Dirichlet(0.5, on=WALL), u, u, 0.5),
    "neumann": (do.pde.Neumann(0.5, on=WALL), u, normal_derivative(u, constant(-1.0, 0.0)), 0.5),
    "neumann on a sphere": (
        do.pde.Neumann(lambda x: x[1], on=BALL.boundary),
        u,
        normal_derivative(u, outward),
        lambda x: x[1],
    ),
    "neumann in time": (
        do.pde.Neumann(0.0, on=ROD.face(0, "upper")),
        u,
        normal_derivative(u, constant(1.0, 0.0)),
        0.0,
    ),
    "neumann of a component": (
        do.pde.Neumann(0.0, on=SQUARE.face(1, "upper"), component=1),
        flow,
        lambda x: jax.jacfwd(flow)(x)[1, 1],
        0.0,
    ),
    "robin": (
        do.pde.Robin(2.0, lambda x: x[1], 1.0, on=WALL),
        u,
        lambda x: 2 * u(x) - x[1] * jax.grad(u)(x)[0],
        1.0,
    ),
    "robin of a component": (
        do.pde.Robin(2.0, 3.0, 1.0, on=WALL, component=2),
        flow,
        lambda x: 2 * flow(x)[2] - 3 * jax.jacfwd(flow)(x)[2, 0],
        1.0,
    ),
    "dirichlet of components": (
        do.pde.Dirichlet(lambda x: x[::-1], on=SQUARE.boundary, component=(2, 0)),
        flow,
        lambda x: flow(x)[jnp.array([2, 0])],
        lambda x: x[::-1],
    ),
    "dirichlet of everything": (
        do.pde.Dirichlet(np.array([0.1, 0.2, 0.3]), on=WALL),
        flow,
        flow,
        np.array([0.1, 0.2, 0.3]),
    ),
    "prescribed": (
        do.pde.Prescribed(do.Laplacian(), lambda x: x[0], on=WALL),
        u,
        lambda x: jnp.trace(jax.hessian(u)(x)),
        lambda x: x[0],
    ),
    "initial": (do.pde.Initial(lambda x: x[0], on=ROD), u, u, lambda x: x[0]),
    "initial rate": (do.pde.Initial(0.0, on=ROD, order=1), u, time_derivative(u), 0.0),
    "initial component": (
        do.pde.Initial(0.0, on=ROD, order=1, component=2),
        flow,
        lambda x: time_derivative(flow)(x)[2],
        0.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_misfit_is_the_mean_square_of_what_is_missed(name, getkey):
    condition, function, left, right = CASES[name]
    (drawn,) = condition.draw(getkey(), COUNT)
    assert drawn.points.shape == (COUNT, condition.prescribed()[2].sample(getkey(), 1).shape[1])
    missed = [left(x) - (right(x) if callable(right) else jnp.asarray(right)) for x in drawn.points]
    expected = np.mean([jnp.sum(each**2) for each in missed])
    assert expected > 1e-3
    np.testing.assert_allclose(drawn.misfit(function), expected, rtol=1e-11)


def test_weights(getkey):
    key = getkey()
    (plain,), (heavy,) = (
        do.pde.Dirichlet(0.0, on=WALL, weight=weight).draw(key, COUNT) for weight in (1.0, 3.0)
    )
    np.testing.assert_allclose(heavy.misfit(u), 3 * plain.misfit(u))


@pytest.mark.parametrize("face", [SQUARE.face(0, "upper"), ROD.face(0, "lower")])
def test_periodic(face, getkey):
    around = lambda x: jnp.sin(jnp.pi * x[0]) * jnp.exp(x[1])
    drawn = do.pde.Periodic(on=face, orders=(0, 1, 2)).draw(getkey(), COUNT)
    assert len(drawn) == 3
    for order, condition in enumerate(drawn):
        assert condition.misfit(around) < 1e-25
        along = u
        for _ in range(order):
            along = normal_derivative(along, constant(*face.normal))
        gaps = [along(x) - along(x + face.across) for x in condition.points]
        np.testing.assert_allclose(condition.misfit(u), np.mean(np.square(gaps)), rtol=1e-11)


def test_periodic_of_a_component(getkey):
    value, slope = do.pde.Periodic(on=WALL, component=2).draw(getkey(), COUNT)
    gaps = [flow(x)[2] - flow(x + WALL.across)[2] for x in value.points]
    np.testing.assert_allclose(value.misfit(flow), np.mean(np.square(gaps)), rtol=1e-11)
    assert str(slope.operator) == "b·∇ I₂"


def test_squares_of_residuals_add_up_to_the_misfit(getkey):
    conditions = do.pde.Conditions(
        do.pde.Dirichlet(jnp.zeros(2), on=SQUARE.boundary, component=(0, 1), weight=3.0),
        do.pde.Periodic(on=WALL, weight=2.0),
    )
    for condition in conditions(getkey(), COUNT):
        squares = np.sum(np.square(condition.residuals(flow)))
        np.testing.assert_allclose(squares, condition.misfit(flow), rtol=1e-12)


def test_an_equation_has_them(getkey):
    """Of a system, by a PINN that holds a function of its own."""
    equation = do.equations.Equation(
        do.Divergence(dims=(0, 1)) @ do.Component((0, 1)),
        lambda v, x: v,
        conditions=do.pde.Conditions(do.pde.Neumann(0.0, on=WALL, component=2)),
    )
    (condition,) = equation.conditions(getkey(), COUNT)
    expected = np.mean([np.square(jax.jacfwd(flow)(x)[2, 0]) for x in condition.points])
    np.testing.assert_allclose(condition.misfit(flow), expected, rtol=1e-11)


def test_each_condition_has_points_of_its_own(getkey):
    conditions = do.pde.Conditions(
        do.pde.Dirichlet(0.0, on=SQUARE.boundary),
        do.pde.Dirichlet(1.0, on=SQUARE.boundary),
        do.pde.Periodic(on=SQUARE.face(1, "lower")),
    )
    key = getkey()
    drawn = conditions(key, COUNT)
    assert [type(each).__name__ for each in drawn] == ["Condition"] * 2 + ["Matching"] * 2
    assert not np.isin(drawn[0].points, [-1, 0, 1, 2, *drawn[1].points.ravel()]).all(axis=1).any()
    again = jax.jit(conditions, static_argnums=1)(key, COUNT)
    np.testing.assert_allclose(again[0].points, drawn[0].points)
    assert not np.array_equal(conditions(getkey(), COUNT)[0].points, drawn[0].points)


def test_measurements_stand_among_them(getkey):
    """As they are, in their place, and others draw what they would draw without them."""
    given = do.pde.Neumann(0.0, on=WALL)
    data = do.equations.Condition(do.Identity(), jnp.ones((2, 3)), jnp.zeros(2))
    key = getkey()
    first, second, third = do.pde.Conditions(given, data, given)(key, 4)
    assert second is data
    other = do.pde.Conditions(given, given, given)(key, 4)
    np.testing.assert_array_equal(first.points, other[0].points)
    np.testing.assert_array_equal(third.points, other[2].points)


def test_a_loss_takes_them(getkey):
    """u_t = Δu on a ring, as a problem is written."""

    class Ring(do.pde.AbstractSolvedProblem):
        name = "ring"
        dim: int = 2

        def operators(self):
            return do.Partial(1) - do.Partial(0, 2)

        def residual(self, values, x):
            return values

        def source(self, x):
            return jnp.zeros(())

        def solution(self, x):
            return jnp.exp(-(jnp.pi**2) * x[1]) * jnp.sin(jnp.pi * x[0])

        def sample(self, key, count):
            return ROD.sample(key, count)

        def conditions(self, key, count):
            start = do.pde.Initial(self.solution, on=ROD)
            return do.pde.Conditions(start, do.pde.Periodic(on=ROD.face(0, "lower")))(key, count)

        def ansatz(self, net):
            return net

        def null_shape(self, x):
            return jnp.ones(())

        def sections(self, resolution):
            return ROD.sections(resolution)

    problem = Ring()
    loss = do.losses.ResidualLoss(problem, batch=8, n=1, probes="exact")
    assert loss(problem.solution, getkey()) < 1e-20
    terms = loss.terms(u, getkey())
    assert terms["data"] > 1e-2


PAIR = lambda x: {"p": x[0], "v": x}


def missing(condition):
    return lambda: [each.misfit(PAIR) for each in condition.draw(KEY, 5)]


def of_a_loss():
    walls = do.pde.Conditions(do.pde.Dirichlet(0.0, on=WALL))
    equation = do.equations.Equation(
        {"p": do.Laplacian() @ do.Component("p")}, lambda v, x: {"p": v["p"]}, conditions=walls
    )
    return do.losses.ResidualLoss(equation, points=jnp.ones((3, 2)), probes="exact")(PAIR, KEY)


def test_a_component_of_a_dict():
    on_wall = do.pde.Dirichlet(lambda x: x, on=WALL, component="v")
    assert missing(on_wall)() == [0.0]


MEAN = do.Integral(do.quadrature.Limits(0.0, 1.0)).estimate(KEY, 8)

test_errors = refusals(
    {
        r"^Neumann expects a part with an outward normal, got Faces\(.*\), which has none: "
        r"it is not defined at the corners of a box, nor at one time; give each face a condition "
        r"of its own, such as \[Neumann\(0.0, on=face\) for face in box.faces\]\.$": lambda: (
            do.pde.Neumann(0.0, on=SQUARE.boundary)
        ),
        r"^Robin expects a part with an outward normal, got Instant\(": lambda: do.pde.Robin(
            1.0, 1.0, 0.0, on=ROD.initial
        ),
        r"Periodic joins opposite faces of a box, got Sphere\(.*\), which has": lambda: (
            do.pde.Periodic(on=BALL.boundary)
        ),
        r"Component\(3\) takes an entry that u does not have: u returns an array": lambda: (
            do.pde.Dirichlet(0.0, on=WALL, component=3).draw(KEY, 4)[0].misfit(flow)
        ),
        r"I of u at a point has shape \(3,\), and what is prescribed shape \(\); no shape is "
        r"broadcast": lambda: do.pde.Dirichlet(0.0, on=WALL).draw(KEY, 4)[0].misfit(flow),
        r"I₀ of u at a point has shape \(\), and what is prescribed shape \(1,\)": lambda: (
            do.pde.Dirichlet(lambda x: x[:1], on=WALL, component=0).draw(KEY, 4)[0].misfit(flow)
        ),
        r"b·∇ I\[0, 1\] of u at a point has shape \(2,\), and what is": lambda: (
            do.pde.Neumann(0.0, on=WALL, component=(0, 1)).draw(KEY, 4)[0].misfit(flow)
        ),
        "Condition expects at least one point; a mean over none": lambda: do.equations.Condition(
            do.Identity(), jnp.ones((0, 2)), jnp.ones(0)
        ).misfit(jnp.sum),
        r"Matching expects a step in the form of one point, with arrays of shape \(2,\)": lambda: (
            do.equations.Matching(do.Identity(), jnp.zeros((3, 2)), jnp.ones(1)).misfit(jnp.sum)
        ),
        r"one number as its weight, got .* a weight of shape \(2,\)": lambda: do.equations.Sampled(
            MEAN, jnp.zeros((1, 1)), jnp.zeros(1), jnp.ones(2)
        ).misfit(jnp.sum),
    },
    {
        r"^Neumann expects a part of a boundary, such as box.face\(0, 'lower'\) or "
        r"ball.boundary, got Box\(": lambda: do.pde.Neumann(0.0, on=SQUARE),
        "expects numbers, arrays or functions of the point for its values, got 'hot'": lambda: (
            do.pde.Dirichlet("hot", on=WALL)
        ),
        r"^Prescribed expects an operator, such as diffop.Partial\(0\), .* got 1.0": lambda: (
            do.pde.Prescribed(1.0, 0.0, on=WALL)
        ),
        r"^Prescribed expects an operator, .* got <class 'diffop.*Identity'>": lambda: (
            do.pde.Prescribed(do.Identity, 0.0, on=WALL)
        ),
        r"^Condition expects an operator, .* or diffop.Identity\(\) .* got None": lambda: (
            do.equations.Condition(None, jnp.zeros((1, 1)), jnp.zeros(1)).misfit(jnp.sum)
        ),
        "^Matching expects an operator, .* got None": lambda: do.equations.Matching(
            None, jnp.zeros((1, 1)), jnp.ones(1)
        ).misfit(jnp.sum),
        r"^Sampled expects an estimate, .*; got Δ of type Laplacian": lambda: do.equations.Sampled(
            do.Laplacian(), jnp.zeros((1, 1)), jnp.zeros(1)
        ),
        "a condition expects a number as its weight, got 'x'": lambda: do.pde.Dirichlet(
            0.0, on=WALL, weight="x"
        ),
        r"Periodic expects several orders, such as orders=\(0, 1\), got 1": lambda: do.pde.Periodic(
            on=WALL, orders=1
        ),
        "Initial expects a domain with time, a diffop.pde.SpaceTime, got Box": lambda: (
            do.pde.Initial(0.0, on=SQUARE)
        ),
        r"Conditions expects conditions one by one, such as .*, got I of type Identity": lambda: (
            do.pde.Conditions(do.Identity())
        ),
        r"^Condition expects .* of u to be one array at a point, got a dict with 'p', 'v'; give "
        r"each entry of u a condition of its own, by component=, or by operator @ diffop.Comp": [
            missing(do.pde.Dirichlet(0.0, on=WALL)),
            missing(do.pde.Neumann(0.0, on=WALL)),
            missing(do.pde.Periodic(on=WALL)),
            missing(do.pde.Normalised(on=SQUARE)),
            missing(do.pde.Normalised(on=SQUARE, n=4)),
            of_a_loss,
        ],
        r"^Condition expects a prescribed value to be one array at a point, got a dict with 'p', "
        r"'v'; give each entry of u a condition": [
            lambda: do.pde.Dirichlet(lambda x: {"p": x[0], "v": x}, on=WALL).draw(KEY, 5),
            lambda: do.pde.Normalised(lambda x: {"p": x[0], "v": x}, on=SQUARE).draw(KEY, 5),
        ],
    },
)

"""Losses that would be 0, negative or no scalar without a word."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("as_users_see_it")

KEY = jax.random.key(0)
POINTS = jnp.linspace(0.1, 0.9, 4)[:, None]
FACE = do.pde.Box((0.0,), (1.0,)).faces[0]
POISSON = do.equations.Equation.linear(do.Laplacian(), lambda x: 0.0)
THREE = do.equations.Equation.linear(
    do.Laplacian(),
    lambda x: 0.0,
    conditions=[
        do.equations.Condition(do.Identity(), POINTS, jnp.full(4, v)) for v in (1.0, 2.0, 3.0)
    ],
)


def loss(equation=POISSON, u=lambda x: x[0], **kwargs):
    return do.losses.ResidualLoss(equation, points=POINTS, probes="exact", **kwargs)(u, KEY)


def compared(residual):
    return lambda: loss(do.equations.Equation([do.Identity()], residual))


def cloud(*normal):
    return do.pde.PointCloud([[0.5, 0.5]], on_boundary=[[0.0, 1.0]], normals=[normal])


TRUTH = (
    "the residual must return a number for each equation, left side minus right side, got truth "
    "values, as == makes of numbers; write left - right in place of left == right."
)
DATA_WEIGHT = (
    "ResidualLoss expects a data_weight that is a finite number of at least 0, or a list with one "
    "for each condition, got "
)
WEIGHT = "a condition expects a finite weight of at least 0, got "
NOTHING = (
    "ResidualLoss expects a data_weight for an equation with conditions, got 10.0 and an equation "
    "without; leave it out, or give the equation conditions."
)
GPINN = "ResidualLoss expects a gpinn of at least 0, a weight of squares, got "
NOT_FINITE = "Box expects lower < upper in each coordinate, both finite, got lower="
OF_SQUARES = "ResidualLoss expects weights of squares that are finite and at least 0, got -1.0."
CASES = {
    TRUTH: [
        compared(lambda v, x: v[0] == 1.0),
        compared(lambda v, x: {"a": v[0], "b": v[0] == 1.0}),
        compared(lambda v, x: np.True_),
        compared(lambda v, x: True),
    ],
    DATA_WEIGHT + "-1.0.": [
        lambda: loss(THREE, data_weight=-1.0),
        lambda: do.nn.PINN(lambda x: x[0], THREE).loss(POINTS, data_weight=-1.0),
    ],
    DATA_WEIGHT + "[1.0,": lambda: loss(THREE, data_weight=[1.0, -1.0, 1.0]),
    DATA_WEIGHT + "inf.": lambda: loss(THREE, data_weight=float("inf")),
    DATA_WEIGHT + "nan.": lambda: loss(THREE, data_weight=float("nan")),
    DATA_WEIGHT + "array([[1.": lambda: loss(THREE, data_weight=np.ones((3, 3))),
    NOTHING: [
        lambda: loss(data_weight=10.0),
        lambda: do.nn.PINN(lambda x: x[0], POISSON).loss(POINTS, data_weight=10.0),
    ],
    WEIGHT + "-1.0; with": lambda: do.pde.Dirichlet(0.0, on=FACE, weight=-1.0),
    WEIGHT + "-2.0; with a negative one u would miss what is asked of it.": lambda: (
        do.equations.Condition(do.Identity(), POINTS, jnp.ones(4), -2.0).misfit(jnp.sum)
    ),
    WEIGHT + "-2.0;": lambda: do.equations.Condition(
        do.Identity(), POINTS, jnp.ones(4), -2.0
    ).residuals(jnp.sum),
    OF_SQUARES: lambda: loss(weights=-1.0),
    "gpinn_terms of ResidualLoss must be at least 1; got 0.": lambda: loss(
        gpinn=1.0, gpinn_terms=0
    ),
    "a loss expects at least one point, got points of shape (0, 3).": lambda: (
        do.losses.ResidualLoss(POISSON, probes="exact", points=jnp.zeros((0, 3)))
    ),
    "a loss expects points with finite coordinates, got 1 of 4 with NaN or infinity, the first of "
    "them number 2; leave them out.": [
        lambda: do.losses.ResidualLoss(POISSON, probes="exact", points=POINTS.at[2].set(jnp.nan)),
        lambda: do.losses.ResidualLoss(
            POISSON, probes="exact", points=(POINTS, np.array([0.0, 1.0, np.inf, 2.0]))
        ),
        lambda: do.nn.PINN(lambda x: x[0], POISSON).loss(POINTS.at[2].set(jnp.inf)),
    ],
    "PointCloud expects points with finite coordinates; got 1 of 2 with NaN or infinity, the first "
    "of them number 1: leave them out.": [
        lambda: do.pde.PointCloud([[0.0], [np.nan]]),
        lambda: do.pde.PointCloud([[0.0]], on_boundary=[[0.0], [np.inf]]),
    ],
    "PointCloud expects normals of length 1; got one of length 5: divide": lambda: cloud(0.0, 5.0),
    "PointCloud expects normals of length 1; got one of length 0: divide": lambda: cloud(0.0, 0.0),
    "PointCloud expects normals of length 1; got one of length nan": lambda: cloud(np.nan, 1.0),
    GPINN + "inf.": lambda: loss(gpinn=float("inf")),
    GPINN + "-1.0.": lambda: loss(gpinn=-1.0),
    NOT_FINITE + "(0.0,) and upper=(inf,).": lambda: do.pde.Box((0.0,), (float("inf"),)),
    NOT_FINITE + "(-inf,) and upper=(0.0,).": lambda: do.pde.Box((-np.inf,), (0.0,)),
    "coordinates, all finite, got dim=2, radius=inf ": lambda: do.pde.Ball(2, float("inf")),
    "SpaceTime expects a positive duration, got inf; it has to be finite.": lambda: (
        do.pde.SpaceTime(do.pde.Ball(2), float("inf"))
    ),
}


test_refused = refusals({re.escape(words): call for words, call in CASES.items()})


def test_points_that_are_traced_are_not_looked_at():
    def at(points):
        return do.losses.ResidualLoss(POISSON, points=points, probes="exact")(jnp.sum, KEY)

    assert jnp.isfinite(jax.jit(at)(POINTS))
    assert jnp.isfinite(jax.grad(at)(POINTS)).all()


def test_normals_with_few_digits():
    half = 0.707  # of the root of 1/2
    assert cloud(half, half).boundary.normal is not None
    assert cloud(np.float16(0.6), np.float16(0.8)).boundary.normal is not None


def of_cubes(weights):
    equation = do.equations.Equation.linear(do.Laplacian(), lambda x: -4.0)
    made = do.losses.ResidualLoss(
        equation, points=jnp.ones((3, 2)), probes="exact", weights=weights
    )
    return made(lambda x: jnp.sum(x**4), KEY)


def test_the_slope_by_a_weight_of_nothing():
    """The loss is linear in it: 28² at every weight."""
    for weight in (0.0, 1e-20, 1.0):
        np.testing.assert_allclose(jax.grad(of_cubes)(weight), 28.0**2, rtol=1e-6)
    assert of_cubes(0.0) < 1e-30


def test_weights_of_complex_residuals():
    equation = do.equations.Equation(do.Laplacian(), lambda v, x: jax.lax.complex(v, 2 * v))
    losses = [
        do.losses.ResidualLoss(equation, points=POINTS, probes="exact", weights=weight)(
            lambda x: jnp.sum(x**4), KEY
        )
        for weight in (None, 2.0)
    ]
    np.testing.assert_allclose(losses[1], 2 * losses[0], rtol=1e-6)


def test_none_among_the_entries_of_a_system():
    equation = do.equations.Equation(
        {"l": do.Laplacian()}, lambda v, x: {"momentum": v["l"], "mass": None}
    )
    with pytest.raises(ValueError, match="a number for each equation.* got None"):
        do.losses.ResidualLoss(equation, points=POINTS, probes="exact")(jnp.sum, KEY)


@pytest.mark.parametrize(
    "weights", [np.array([1.0, 2.0, 3.0]), jnp.array([1.0, 2.0, 3.0]), (1.0, 2.0, 3.0)]
)
def test_several_weights_are_one_for_each_condition(weights):
    """u = x + 1 misses 1, 2 and 3 by x, 1 − x and 2 − x; the mean squares by hand."""
    x = np.linspace(0.1, 0.9, 4)
    expected = np.mean(x**2 + 2 * (1 - x) ** 2 + 3 * (2 - x) ** 2)
    got = loss(THREE, lambda x: x[0] + 1, data_weight=weights)
    assert got.shape == ()
    np.testing.assert_allclose(got, expected, rtol=1e-6)

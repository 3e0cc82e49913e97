"""What u gives and what is asked of it have one shape: nothing is broadcast."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.runs.pictures import save_picture

from ..problems import FIXED, PARTS
from ..refused import refusals
from .toy import Poisson, Wrapped

pytestmark = pytest.mark.usefixtures("as_users_see_it")

KEY = jax.random.key(0)
POINTS = jnp.linspace(-0.9, 0.9, 5)[:, None]
SCALAR = 'no shape is broadcast: let it be a scalar: eqx.nn.MLP(d, "scalar", ...), or u = lambda x:'


def one(x):
    """Of shape (1,), as networks elsewhere."""
    return jnp.sin(x[:1])


def two(x):
    return jnp.stack([x[0], x[0] ** 2])


def condition(values, operator=None, weight=1.0):
    operator = do.Identity() if operator is None else operator
    return do.equations.Condition(operator, POINTS, values, weight)


def loss(u, problem=None, **kwargs):
    problem = Poisson() if problem is None else problem
    return do.losses.ResidualLoss(problem, 5, 1, "exact", **kwargs)(u, KEY)


def errors(u, problem=None):
    problem = Poisson() if problem is None else problem
    return do.train.FixedPoints(problem, KEY, 10).errors(u)


class Changed(Wrapped):
    """Some of the functions return arrays of one entry."""

    def solution(self, x):
        return one(x)


class Flat(Wrapped):
    def null_shape(self, x):
        return one(x)


class Section:
    points = jnp.zeros((2, 3, 1))


def picture(network):
    save_picture(None, [Section()], network, lambda x: x[0], "")


def adaptive(residual):
    def sample(key, count):
        return jax.random.uniform(key, (count, 1))

    return do.losses.residual_adaptive(KEY, residual, sample, 2, pool=4)


ENTRY = (
    "no shape is broadcast: give both the same shape, or take an entry of it by diffop.Component"
)
SOURCE = (
    "u at a point has shape %s, and the source of the problem (a system's is like its residual)"
)
PER_POINT = "Condition expects a value for each of its 5 points and one number as its weight, got "
CASES = {
    f"I of u at a point has shape (1,), and what is prescribed shape (); {SCALAR}": lambda: (
        condition(jnp.ones(5)).misfit(one)
    ),
    f"u at a point has shape (2,), and what is prescribed shape (); {ENTRY}, or co": lambda: (
        condition(jnp.ones(5)).misfit(two)
    ),
    "∇ of u at a point has shape (1, 1), and what is prescribed shape (1,); no shape is "
    "broadcast: give both the same shape.": lambda: condition(
        jnp.ones((5, 1)), do.Gradient()
    ).misfit(one),
    "I of u at a point has shape (), and what is prescribed shape (1,); no shape": lambda: (
        condition(jnp.ones((5, 1))).misfit(lambda x: x[0])
    ),
    PER_POINT + "values of shape (1,) and a weight of shape ()": lambda: condition(
        jnp.ones(1)
    ).misfit(lambda x: x[0]),
    PER_POINT
    + "values of shape (5,) and a weight of shape (5,); points with other weights": lambda: (
        condition(jnp.ones(5), weight=jnp.ones(5)).misfit(lambda x: x[0])
    ),
    SOURCE % "(1,)" + " shape (); " + SCALAR: [
        lambda: loss(one),
        lambda: do.nn.PINN(one, Poisson(), lambda net: net).residual(POINTS[0]),
    ],
    SOURCE % "(2,)" + " shape (); " + ENTRY: [
        lambda: loss(two),
        lambda: do.nn.PINN(two, Poisson(), lambda net: net).loss(POINTS),
    ],
    "the residual at a point has shape (3, 3), and the source of the problem (a system's is "
    "like its residual) shape (3,); no shape is broadcast: give both the same shape.": lambda: loss(
        pair, Crossed(Poisson(), False)
    ),
    f"u at a point has shape (1,), and the solution shape (); {SCALAR}": lambda: errors(one),
    f"the solution at a point has shape (1,), and an error shape (); {SCALAR}": lambda: errors(
        one, Changed(Poisson())
    ),
    f"the null_shape at a point has shape (1,), and the solution shape (); {SCALAR}": lambda: (
        errors(jnp.sum, Flat(Poisson()))
    ),
    f"the network at a point has shape (1,), and the solution shape (); {SCALAR}": lambda: picture(
        one
    ),
    "the residual at a point has shape (1,), and the probability of a point shape (); no": lambda: (
        adaptive(one)
    ),
}


test_nothing_is_broadcast = refusals({re.escape(words): call for words, call in CASES.items()})


@pytest.mark.parametrize("name", PARTS)
def test_no_problem_takes_a_network_of_shape_1(name):
    problem = do.pde.make(name, None if name in FIXED else 8, key=KEY)
    u = problem.ansatz(lambda x: jnp.sin(x[:1]))
    message = SOURCE % "(1,)" + " shape ()"
    if problem.outputs != "scalar":
        message = (
            "Component(1) takes an entry that u does not have: u returns an array of shape (1,)"
        )
    if name == "ginzburg-landau":  # its ansatz multiplies a pair
        message = "the network at a point has shape (1,), and the solution shape (2,); no shape"
    if name == "gray-scott":  # its initial value is a pair
        message = (
            "the value of HardConstraint at a point has shape (2,), and the network shape (1,)"
        )
    with pytest.raises(ValueError, match=re.escape(message)):
        jax.eval_shape(lambda: loss(u, problem))


class System(Wrapped):
    """u'' = 6 v, v'' = 2 at 3 times its size: residuals of u = x³, v = x² less 0, 1 and 2."""

    names: bool

    def operators(self):
        return {"value": do.Identity(), "lap": do.Laplacian()}

    def source(self, x):
        return jnp.arange(3.0)

    def residual(self, values, x):
        u_xx, v_xx = values["lap"]
        found = [u_xx - 6 * x[0], v_xx - 3, 3 * v_xx - 8]  # 0, −1, −2
        return {"u": found[0], "v": jnp.stack(found[1:])} if self.names else jnp.stack(found)


def pair(x):
    return jnp.stack([x[0] ** 3, x[0] ** 2])


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("kwargs", [{}, {"pool": 2}, {"gpinn": 0.5}])
def test_systems_add_their_squares(names, kwargs):
    """0² + 1² + 2² at each point; ∂ₓ of all three residuals is 0. So does a PINN."""
    system = System(Poisson(), names)
    np.testing.assert_allclose(loss(pair, system, **kwargs), 5.0, rtol=1e-5)
    pinn = do.nn.PINN(pair, system, lambda net: net)
    np.testing.assert_allclose(pinn.loss(POINTS), 5.0, rtol=1e-5)


@pytest.mark.parametrize("square", ["product", "pairs"])
def test_estimated_systems_add_their_squares(square):
    found = do.losses.ResidualLoss(System(Poisson(), True), 5, 2, "gaussian", square=square)
    np.testing.assert_allclose(found(pair, KEY), 5.0, rtol=1e-5)


class Crossed(System):
    """Broadcast against its source."""

    def residual(self, values, x):
        return super().residual(values, x)[:, None] - self.source(x)[None, :]


class Repeated(Wrapped):
    """The residual 2 of a scalar u, three times."""

    def residual(self, values, x):
        return jnp.full(3, 2.0) + 0 * values


def test_an_array_of_residuals_of_a_scalar():
    problem = Repeated(Poisson())
    u = lambda x: x[0] ** 2  # noqa: E731
    np.testing.assert_allclose(loss(u, problem), 12.0)
    np.testing.assert_allclose(do.nn.PINN(u, problem, lambda net: net).loss(POINTS), 12.0)

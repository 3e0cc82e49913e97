"""What holds for every problem in the registry; of those made from an equation and a domain, for
each equation and each domain.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..problems import FIXED, PARTS

pytestmark = pytest.mark.usefixtures("x64")

REFERENCE = (
    *("semilinear-heat", "semilinear-allen-cahn", "semilinear-sine-gordon"),
    *("allen-cahn-1d", "kdv-cosine", "kuramoto-sivashinsky", "cavity", "cavity-1000"),
    *("ginzburg-landau", "gray-scott", "backward-step"),
)
SOLVED = [name for name in PARTS if name not in REFERENCE]


@functools.cache
def problem_called(name):
    return do.pde.make(name, None if name in FIXED else 5, key=jax.random.key(3))


def other(x):
    """A function that solves none of the equations."""
    return jnp.exp(0.3 * jnp.sin(x[0] + 2 * x[1]) + 0.1 * x @ x) + jnp.cos(x[-1])


def other_for(problem):
    """The same with as many values as the problem's."""
    if problem.outputs == "scalar":
        return other
    return lambda x: jnp.stack([other(x + 0.1 * i) for i in range(problem.outputs)])


def residuals(problem, u, points):
    """At each point the residual, and how large the terms are that it is the sum of."""

    def at(x):
        values = do.exact(problem.operators())(u)(x)
        size = sum(jnp.sum(jnp.abs(leaf)) for leaf in jax.tree.leaves(values))
        own = jnp.sum(jnp.abs(problem.source(x))) + jnp.sum(jnp.abs(u(x)))
        return problem.residual(values, x), size + own

    return jax.jit(jax.vmap(at))(points)


@pytest.mark.parametrize("name", SOLVED)
def test_the_solution_and_no_other_has_no_residual(name, getkey):
    problem = problem_called(name)
    points = problem.sample(getkey(), 20)
    left, size = residuals(problem, problem.solution, points)
    assert np.abs(left).max() < 1e-12 * np.max(size)
    left, size = residuals(problem, other_for(problem), points)
    assert np.abs(left).max() > 1e-3 * np.max(size)


@pytest.mark.parametrize("name", SOLVED)
def test_the_solution_and_no_other_fits_the_data(name, getkey):
    problem = problem_called(name)
    for condition in problem.conditions(getkey(), 20):
        missed = condition.misfit(other_for(problem))
        size = np.mean(np.square(condition.values)) or missed
        assert condition.misfit(problem.solution) <= 1e-20 * size
        assert missed > 1e-3 * size and missed > 1e-6


@pytest.mark.parametrize("name", PARTS)
def test_points_are_like_the_problem_says(name, getkey):
    problem = problem_called(name)
    points = problem.sample(getkey(), 20)
    assert points.shape == (20, problem.dim) and np.isfinite(points).all()
    again = problem.sample(jax.random.key(7), 3)
    assert (again == problem.sample(jax.random.key(7), 3)).all()
    for condition in problem.conditions(getkey(), 4):
        assert condition.points.shape == (4, problem.dim)


@pytest.mark.parametrize("name", PARTS)
def test_the_recommended_loss_of_a_network_can_be_traced(name):
    """Shapes and types of the loss and its gradient, in single precision and strictly."""
    settings = do.train.Settings(name, **({} if name in FIXED else {"dim": 10}))
    with jax.enable_x64(False):
        problem = do.pde.make(name, settings.dim, key=jax.random.key(0))
        loss = do.train.model.build_loss(settings, problem)
        sees = problem.inputs or problem.dim

        def gradient(key):
            net = eqx.nn.MLP(sees, problem.outputs, 4, 1, activation=jnp.tanh, key=key)
            return eqx.filter_value_and_grad(lambda u: loss(u, key))(problem.ansatz(net))

        value, _ = eqx.filter_eval_shape(gradient, jax.random.key(0))
    assert (value.shape, value.dtype) == ((), jnp.float32)

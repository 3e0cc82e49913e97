"""What is added to the squared residual: its gradient, data, and a second draw of jets."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.losses.enhancement import spread
from diffop.streams import stream

from .. import nested
from .toy import Frozen

pytestmark = pytest.mark.usefixtures("x64")


def network(problem):
    net = eqx.nn.MLP(problem.dim, "scalar", 6, depth=2, activation=jnp.tanh, key=jax.random.key(1))
    return problem.ansatz(net)


def points_of(problem, key, count):
    """The residual's points, and the data, of a loss that is called with `key`."""
    points = problem.sample(stream(key, "points"), count)
    return points, problem.conditions(stream(key, "conditions"), count)


def kdv(problem, u):
    u_x = lambda x: jax.grad(u)(x)[0]
    u_xx = lambda x: jax.grad(u_x)(x)[0]
    return lambda x: jax.grad(u)(x)[1] + u(x) * u_x(x) + problem.alpha * jax.grad(u_xx)(x)[0]


@pytest.mark.parametrize(
    ("make", "residual"),
    [
        (lambda: do.pde.ManyBody("allen-cahn", 2, 4, key=jax.random.key(0)), nested.allen_cahn),
        (lambda: do.pde.KdV1D(alpha=0.7), kdv),
    ],
    ids=["allen-cahn", "g-kdv"],
)
def test_the_whole_loss_written_out(make, residual):
    problem, weight = make(), 0.3
    u, key = network(problem), jax.random.key(2)
    points, data = points_of(problem, key, 6)

    @eqx.filter_jit
    def written_out(problem, u):
        squares = jax.vmap(nested.enhanced(residual(problem, u), weight))(points)
        if data:
            initial, boundary, slope = data
            u_x = lambda x: jax.grad(u)(x)[0]
            misfit = sum(
                jnp.mean((jax.vmap(f)(condition.points) - condition.values) ** 2)
                for f, condition in ((u, initial), (u, boundary), (u_x, slope))
            )
            return jnp.mean(squares) + 5.0 * misfit
        return jnp.mean(squares)

    weights = {"data_weight": 5.0} if data else {}
    loss = do.losses.ResidualLoss(problem, 6, 1, "exact", gpinn=weight, **weights)
    np.testing.assert_allclose(eqx.filter_jit(loss)(u, key), written_out(problem, u), rtol=1e-12)


@pytest.mark.parametrize(("dim", "terms"), [(5, 1), (5, 2), (6, 4), (7, 7), (100, 16)])
def test_all_coordinates_are_equally_likely(dim, terms):
    choices = np.array([spread(first, dim, terms) for first in range(dim)])
    assert all(len(set(choice)) == terms for choice in choices.tolist())
    np.testing.assert_array_equal(np.bincount(choices.ravel(), minlength=dim), terms)


def test_sampled_components_of_the_gradient():
    """Over the coordinates that may be drawn the mean is the whole gradient's loss."""
    problem = do.pde.ManyBody("allen-cahn", 2, 5, key=jax.random.key(0))
    u = network(problem)
    whole = do.losses.ResidualLoss(Frozen(problem), 4, 1, "exact", gpinn=0.3, gpinn_terms=5)
    some = do.losses.ResidualLoss(Frozen(problem), 4, 1, "exact", gpinn=0.3, gpinn_terms=2)
    keys = jax.random.split(jax.random.key(0), 100)
    values = np.unique(np.round(eqx.filter_jit(jax.vmap(lambda key: some(u, key)))(keys), 12))
    assert values.size == 5
    np.testing.assert_allclose(values.mean(), eqx.filter_jit(whole)(u, keys[0]), rtol=1e-10)


def test_two_draws_are_unbiased_and_one_is_not():
    """By enumeration: one coordinate of three has nine equally likely pairs of draws, and three
    single ones, each with three choices of the gradient's component. The mean over them is the
    exact loss, or that plus the variance."""
    problem = Frozen(do.pde.ManyBody("allen-cahn", 2, 3, key=jax.random.key(0)))
    u = lambda x: jnp.sin(3.0 * x[0] + x[1] * x[2])
    one, two = (
        do.losses.ResidualLoss(problem, 4, 1, "sparse", gpinn=0.3, gpinn_terms=1, square=square)
        for square in ("biased", "product")
    )
    exact = do.losses.ResidualLoss(problem, 4, 1, "exact", gpinn=0.3)

    @eqx.filter_jit
    def losses(loss, keys):
        return jax.vmap(lambda key: loss(u, key))(keys)

    keys = jax.random.split(jax.random.key(0), 300)
    singles = np.unique(np.round(losses(one, keys), 10))
    pairs = np.unique(np.round(losses(two, keys), 10))
    assert (singles.size, pairs.size) == (9, 18)
    mixed = [value for value in pairs if not np.isclose(singles, value, rtol=1e-8).any()]
    assert len(mixed) == 9  # R_a R_b = R_b R_a counts twice, R_a² once
    expected = losses(exact, keys[:1])[0]
    mean = (singles.sum() + 2 * np.sum(mixed)) / 27
    np.testing.assert_allclose(mean, expected, rtol=1e-8)
    assert singles.mean() > 1.01 * expected

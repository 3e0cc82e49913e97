"""Points chosen where the residual is large."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.losses.residual import norm_of
from diffop.streams import stream

from .. import nested

pytestmark = pytest.mark.usefixtures("x64")


def _problem():
    return do.pde.ManyBody("allen-cahn", 2, 3, key=jax.random.key(0))


def _u(scale, x):
    return (1 - x @ x) * jnp.sin(scale * jnp.sum(x))


def _residual(problem, scale, x):
    return nested.allen_cahn(problem, jax.tree_util.Partial(_u, scale))(x)


def test_the_loss_is_the_mean_over_the_chosen_points():
    problem, scale = _problem(), jnp.array(1.5)
    loss = do.losses.ResidualLoss(problem, batch=20, n=1, probes="exact", pool=5)

    def value(scale):
        return loss(jax.tree_util.Partial(_u, scale), jax.random.key(1))

    points_key = stream(jax.random.key(1), "points")
    residual = jax.jit(lambda x: _residual(problem, scale, x))
    points = do.losses.residual_adaptive(points_key, residual, problem.sample, 20, pool=100)

    def at_points(scale):
        return jnp.mean(jax.vmap(lambda x: _residual(problem, scale, x))(points) ** 2)

    got, gradient = jax.jit(jax.value_and_grad(value))(scale)
    expected, expected_gradient = jax.jit(jax.value_and_grad(at_points))(scale)
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    # the choice of the points is not differentiated
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10)


def test_chosen_points_have_larger_residuals():
    """In the mean over calls: 20 points that are chosen, and 20 that are not."""
    problem, u = _problem(), jax.tree_util.Partial(_u, jnp.array(1.5))
    chosen, plain = (
        do.losses.ResidualLoss(problem, batch=20, n=1, probes="exact", pool=pool) for pool in (5, 1)
    )
    both = jax.vmap(lambda key: (chosen(u, key), plain(u, key)))
    got, others = jax.jit(both)(jax.random.split(jax.random.key(1), 100))
    gap = np.asarray(got - others)
    assert gap.mean() > 5 * gap.std() / 10


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1.0, 1e22])
def test_sizes_of_residuals_stay_in_range(scale):
    """Of 3 and 4 in some unit 5, in single precision, alone and in a system; and 0 of nothing."""
    r = lambda number: jnp.float32(number * scale)
    np.testing.assert_allclose(norm_of(r(-3)), 3 * scale, rtol=1e-6)
    np.testing.assert_allclose(norm_of({"u": r(3), "v": r(-4)[None]}), 5 * scale, rtol=1e-6)
    assert norm_of(r(0)) == 0


@pytest.mark.parametrize("names", [False, True])
def test_points_of_systems_are_chosen_by_the_norm(names):
    """Of 3r and 4r, which is 5r: the same points as by a residual of that size."""
    sample = lambda key, count: jax.random.normal(key, (count, 2))

    def system(x):
        r = jnp.sin(x[0])
        return {"u": 3 * r, "v": -4 * r[None]} if names else jnp.stack([3 * r, -4 * r])

    whole, alone = (
        do.losses.residual_adaptive(jax.random.key(1), residual, sample, 8, pool=64)
        for residual in (system, lambda x: 5 * jnp.sin(x[0]))
    )
    np.testing.assert_array_equal(whole, alone)

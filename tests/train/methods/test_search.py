"""How far steps go, and how much they are damped."""

import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.train.methods.search import adapted, halved

from .least_squares import after

pytestmark = pytest.mark.usefixtures("x64")


def counted(loss):
    """A loss by the size of a step, and where it has been asked for."""
    sizes = 0.5 ** np.arange(40.0)
    return lambda size: jnp.asarray([loss(s) for s in sizes])[
        jnp.round(-jnp.log2(size)).astype(int)
    ]


@pytest.mark.parametrize("best", [2.0, 1.0, 0.5, 0.3, 0.26, 0.01])
def test_the_best_of_all_sizes_of_a_parabola(best):
    loss = lambda size: (size - best) ** 2 + 1.0
    size, reached = halved(counted(loss), jnp.asarray(loss(0.0)), 12)
    expected = min(0.5 ** np.arange(13.0), key=loss)
    np.testing.assert_allclose([size, reached], [expected, loss(expected)])


def test_sizes_without_a_finite_loss_are_gone_past():
    loss = lambda size: np.nan if size > 0.3 else 0.5 - size
    size, reached = halved(counted(loss), jnp.asarray(1.0), 12)
    np.testing.assert_allclose([size, reached], [0.25, 0.25])


def test_no_size_makes_it_smaller():
    size, reached = halved(counted(lambda size: 1.0 + size), jnp.asarray(1.0), 5)
    np.testing.assert_allclose([size, reached], [0.5**5, 1 + 0.5**5])
    size, reached = halved(counted(lambda size: np.inf), jnp.asarray(1.0), 5)
    assert np.isinf(reached)


def test_no_halvings():
    size, reached = halved(counted(lambda size: 3.0 * size), jnp.asarray(1.0), 0)
    np.testing.assert_allclose([size, reached], [1.0, 3.0])


@pytest.mark.parametrize(
    ("reached", "factor"),
    [(0.0, 1 / 3), (0.1, 1 / 3), (0.5, 1), (0.9, 4), (2.0, 4), (np.inf, 4), (np.nan, 4)],
)
def test_damping_by_how_much_of_the_promise_came_true(reached, factor):
    """From 1 to 0.1 was promised, a reduction by 0.9."""
    result = adapted(*map(jnp.asarray, (0.01, 1.0, reached, 0.1)))
    np.testing.assert_allclose(result, 0.01 * factor)


def test_damping_stays_within_bounds():
    eps = np.finfo(float).eps
    np.testing.assert_allclose(adapted(*map(jnp.asarray, (eps, 1.0, 0.0, 0.0))), eps)
    np.testing.assert_allclose(adapted(*map(jnp.asarray, (900.0, 1.0, 2.0, 0.0))), 1000.0)


class Valley:
    """Rosenbrock's, whose full Gauss–Newton steps go uphill."""

    def residuals(self, x, key):
        return {"wall": 100.0 * (x[1] - x[0] ** 2), "floor": 1 - x[0]}


@pytest.mark.parametrize(
    "method",
    [
        do.train.GaussNewton(damping=1.0, adaptive=True, halvings=0),
        do.train.GaussNewton(damping=1e-4, adaptive=True),
        do.train.GaussNewton(damping=1e-12),
    ],
    ids=["Levenberg-Marquardt", "both", "line search"],
)
def test_a_curved_valley(method):
    result = after(Valley(), jnp.array([-1.2, 1.0]), method, 100)
    np.testing.assert_allclose(result.model, 1.0, atol=1e-8)
    assert (np.diff(result.losses) <= 0).all()


def test_a_step_that_would_not_help_is_not_made():
    """Where the linear model is wrong, and one halving is too few."""

    class Root:
        def residuals(self, x, key):
            return jnp.cbrt(x)  # a full step goes from x to −2x

    model = jnp.array([1.0])
    once = do.train.GaussNewton(damping=0.0, halvings=0)
    np.testing.assert_allclose(after(Root(), model, once).model, [-2.0])
    adaptive = do.train.GaussNewton(damping=0.0, halvings=0, adaptive=True)
    np.testing.assert_allclose(after(Root(), model, adaptive).model, [1.0])
    np.testing.assert_allclose(
        after(Root(), model, do.train.GaussNewton(damping=0.0, halvings=2)).model, [0.25]
    )

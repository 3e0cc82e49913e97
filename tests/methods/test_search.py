"""How far steps go, and how much they are damped."""

import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.methods.search import adapted, halved

from .least_squares import KEY, after

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
    size, reached = halved(counted(loss), jnp.asarray(loss(0.0)), 12, jnp.asarray(1.0))
    expected = min(0.5 ** np.arange(13.0), key=loss)
    np.testing.assert_allclose([size, reached], [expected, loss(expected)])


def test_sizes_without_a_finite_loss_are_gone_past():
    loss = lambda size: np.nan if size > 0.3 else 0.5 - size
    size, reached = halved(counted(loss), jnp.asarray(1.0), 12, jnp.asarray(1.0))
    np.testing.assert_allclose([size, reached], [0.25, 0.25])


def test_no_size_makes_it_smaller():
    size, reached = halved(counted(lambda size: 1.0 + size), jnp.asarray(1.0), 5, jnp.asarray(1.0))
    np.testing.assert_allclose([size, reached], [0.5**5, 1 + 0.5**5])
    size, reached = halved(counted(lambda size: np.inf), jnp.asarray(1.0), 5, jnp.asarray(1.0))
    assert np.isinf(reached)


@pytest.mark.parametrize("whole", [1.0, 0.25, 2.0**-9])
def test_the_first_size(whole):
    loss = lambda size: (size - 0.3) ** 2 + 1.0
    size, reached = halved(counted(loss), jnp.asarray(loss(0.0)), 3, jnp.asarray(whole))
    expected = min(whole * 0.5 ** np.arange(4.0), key=loss)
    np.testing.assert_allclose([size, reached], [expected, loss(expected)])


def test_no_halvings():
    size, reached = halved(counted(lambda size: 3.0 * size), jnp.asarray(1.0), 0, jnp.asarray(1.0))
    np.testing.assert_allclose([size, reached], [1.0, 3.0])


def test_damping_rises_until_a_step_is_made():
    """From x an undamped step goes to −7x, and half of one to −3x: with damping λ to x − 8x/(1 + λ)
    and x − 4x/(1 + λ). The given one is 0.1: 0.1 and 0.4 are too little, 1.6 is enough; then a
    third of that is too little, and four thirds are enough.
    """

    class Flat:
        def residuals(self, x, key):
            return jnp.sign(x) * jnp.abs(x) ** 0.125

    method = do.methods.GaussNewton(damping=0.1, halvings=1)
    x, expected = 1.0, [1.0, 1.0, 1.0]
    for damping in (1.6, 6.4 / 3):
        x *= 1 - 4 / (1 + damping)
        expected += [abs(x) ** 0.25] * 2
    result = after(Flat(), jnp.array([1.0]), method, 6)
    np.testing.assert_allclose(result.losses, expected[:6], rtol=1e-12)


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
        do.methods.GaussNewton(damping=1.0, adaptive=True, halvings=0),
        do.methods.GaussNewton(damping=1e-4, adaptive=True),
        do.methods.GaussNewton(damping=1e-12),
        do.methods.GaussNewton(damping=1.0, adaptive=True, acceleration=True),
    ],
    ids=["Levenberg-Marquardt", "both", "line search", "acceleration"],
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
    once = do.methods.GaussNewton(damping=0.0, halvings=0)
    np.testing.assert_allclose(after(Root(), model, once).model, [-2.0])
    adaptive = do.methods.GaussNewton(damping=0.0, halvings=0, adaptive=True)
    np.testing.assert_allclose(after(Root(), model, adaptive).model, [1.0])
    np.testing.assert_allclose(
        after(Root(), model, do.methods.GaussNewton(damping=0.0, halvings=2)).model, [0.25]
    )


def test_a_step_that_bends_too_much_is_not_made():
    """Along d the residual x + c x² has r'' = 2 c d²: with c = 0 it is straight."""

    class Bent:
        def __init__(self, bend):
            self.bend = bend

        def residuals(self, x, key):
            return x + self.bend * x**2

    method = do.methods.GaussNewton(damping=0.0, adaptive=True, halvings=0, acceleration=True)
    for bend, after_it in [(0.0, 0.0), (-0.1, None), (-0.3, 1.0)]:
        # d = (1 + c) / (1 + 2 c) and a = 2 c d² / (1 + 2 c): |a| is 0.28 and 2.6 of |d|
        d = (1 + bend) / (1 + 2 * bend)
        if after_it is None:
            after_it = 1 - d - bend * d**2 / (1 + 2 * bend)
        result = after(Bent(bend), jnp.array([1.0]), method).model
        np.testing.assert_allclose(result, [after_it], atol=1e-12)


def test_a_step_made_shorter_does_not_lower_the_damping():
    """Though it does more than the linear model promises of a step of its length: of size 1/4 it
    goes to 0.32, from a loss of 1 to 0.47, where 0.60 is promised, and 0.01 for the whole step.
    """

    class Root:
        def residuals(self, x, key):
            return jnp.cbrt(x)

    method = do.methods.GaussNewton(damping=0.1, adaptive=True, halvings=4)
    (state,) = do.train.iterate(jnp.array([1.0]), Root(), method, 1, key=KEY)
    np.testing.assert_allclose(state.model, 1 - 3 / 1.1 / 4)
    np.testing.assert_allclose(state.optimiser.damping, 0.1)

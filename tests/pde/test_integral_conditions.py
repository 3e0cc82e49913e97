"""Conditions on integrals, by rules beside closed forms, and by random points beside both."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.pde import Normalised, OrthogonalTo

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

Z = 4.5
KEY = jax.random.key(0)
BOX = do.pde.Box((0.0, 0.0), (1.0, 2.0))
ROD = do.pde.Box((0.0,), (1.0,))
LASTING = do.pde.SpaceTime(ROD, 3.0)
ARGUMENTS = do.pde.SpaceTime(ROD, 3.0, argnum=1)


def u(x):
    return x[0] * x[1] ** 2  # ∫ over the box = 4/3


# (condition, u, the squares of what u misses, given the times)
CASES = {
    "a density": (Normalised(on=BOX), u, lambda t: (4 / 3 - 1) ** 2),
    "a number": (Normalised(2.0, on=BOX, weight=3.0), u, lambda t: 3 * (4 / 3 - 2) ** 2),
    "a component": (
        Normalised(0.0, on=BOX, component=1),
        lambda x: jnp.stack([x[0], u(x)]),
        lambda t: (4 / 3) ** 2,
    ),
    "a ball": (
        Normalised(0.0, on=do.pde.Ball(3)),
        lambda x: x @ x,
        lambda t: (4 * math.pi / 5) ** 2,
    ),
    "a system": (
        Normalised(np.array([0.0, 1.0]), on=BOX),
        lambda x: jnp.stack([u(x), u(x)]),
        lambda t: (4 / 3) ** 2 + (4 / 3 - 1) ** 2,
    ),
    "all of space": (
        Normalised(on=BOX, over=do.quadrature.WholeSpace(1.0)),
        lambda x: jnp.exp(-x @ x / 2),
        lambda t: (2 * math.pi - 1) ** 2,
    ),
    "at any time": (
        Normalised(on=LASTING),
        lambda x: 2 * x[0] * x[1],
        lambda t: np.mean((t - 1) ** 2),
    ),
    "of a time": (
        Normalised(lambda x, t: t**2, on=ARGUMENTS),
        lambda x, t: 2 * x[0] * t,
        lambda t: np.mean((t - t**2) ** 2),
    ),
}


def times(points):
    return np.asarray(points[1] if isinstance(points, tuple) else points[:, -1])


@pytest.mark.parametrize("name", CASES)
def test_what_is_missed(name):
    condition, function, missed = CASES[name]
    (drawn,) = condition.draw(KEY, 5)
    expected = missed(times(drawn.points))
    rtol = 1e-4 if name == "all of space" else 1e-12  # a rule of quantiles
    np.testing.assert_allclose(drawn.misfit(function), expected, rtol=rtol)
    residuals = drawn.residuals(function)
    np.testing.assert_allclose(jnp.sum(residuals**2), expected, rtol=rtol)


def test_what_is_orthogonal():
    waves = [lambda x, k=k: jnp.sin(k * math.pi * x[0]) for k in (1, 2, 3)]
    conditions = OrthogonalTo((waves[0], waves[1]), on=ROD, weight=2.0).draw(KEY, 5)
    both = lambda x: 3 * waves[0](x) + waves[2](x)
    first, second = (each.misfit(both) for each in conditions)
    np.testing.assert_allclose(first, 2 * (3 / 2) ** 2, rtol=1e-9)
    np.testing.assert_allclose(second, 0, atol=1e-12)
    (drawn,) = OrthogonalTo(waves[0], on=LASTING).draw(KEY, 5)
    u = lambda x: waves[0](x) * x[1]
    np.testing.assert_allclose(drawn.misfit(u), np.mean((times(drawn.points) / 2) ** 2), rtol=1e-9)


@pytest.mark.parametrize("name", ["a number", "a component", "a system", "at any time"])
def test_random_points_have_an_unbiased_square(name):
    """A z-test that fails a correct library with probability 7e-6. With R̂² alone it would fail: the
    variance is a share of it that the test sees.
    """
    condition, function, _ = CASES[name]
    options = {"component": condition.component, "weight": condition.weight, "n": 4}
    random = Normalised(condition.value, on=condition.on, **options)

    def both(key):
        (drawn,), (exact,) = random.draw(key, 3), condition.draw(key, 3)
        parts = drawn.operator, drawn.points, drawn.values, drawn.weight
        square = do.equations.Condition(*parts).misfit(function)
        fine = exact.misfit(function)
        return drawn.misfit(function) - fine, square - fine

    found = jax.jit(jax.vmap(both))(jax.random.split(KEY, 4000))
    unbiased, biased = (jnp.mean(z) / (jnp.std(z) / math.sqrt(4000)) for z in found)
    assert abs(unbiased) < Z < biased


def test_a_loss_has_its_minimum_at_the_density():
    """p' = −p on [0, 1] has one solution with the integral 1, exp(−x)/(1 − 1/e). Of a polynomial of
    degree 5 the loss is quadratic in the coefficients, and one step of Newton's leads there; by
    random points the mean of many losses is that by a rule.
    """
    points, minima = np.linspace(0.0, 1.0, 9)[:, None], []
    for n, keys in ((None, 1), (8, 2000)):
        equation = do.equations.Equation.linear(
            do.Partial(0) + do.Identity(),
            lambda x: 0.0,
            conditions=do.pde.Conditions(Normalised(on=ROD, n=n)),
        )
        loss = do.losses.ResidualLoss(equation, points=points, probes="exact")
        of = lambda c, key, loss=loss: loss(lambda x: jnp.polyval(c, x[0]), key)
        mean = lambda c, of=of, keys=keys: jnp.mean(
            jax.vmap(lambda key: of(c, key))(jax.random.split(KEY, keys))
        )
        slope = jax.jit(jax.grad(mean))
        first, *others = (slope(c) for c in np.eye(7, 6, -1))
        c = -jnp.linalg.solve(jnp.stack(others) - first[None], first)
        minima.append(np.polyval(c, points[:, 0]))
    exact = np.exp(-points[:, 0]) / (1 - math.exp(-1))
    np.testing.assert_allclose(minima[0], exact, rtol=1e-5)
    np.testing.assert_allclose(minima[1], exact, rtol=2e-2)


test_what_is_wrong_is_said = refusals(
    {"must be at least 2; got 1": lambda: Normalised(on=ROD, n=1)},
    {
        "taken over a domain": lambda: Normalised(on=ROD.face(0, "lower")),
        "numbers, arrays or functions": lambda: Normalised("one", on=ROD),
        "expects functions of the coordinates": lambda: OrthogonalTo(2.0, on=ROD),
        "a method residuals": lambda: do.losses.ResidualLoss(
            do.equations.Equation.linear(
                do.Identity(), jnp.sum, conditions=Normalised(on=ROD, n=4).draw(KEY, 1)
            ),
            points=np.ones((2, 1)),
            probes="exact",
        ).residuals(jnp.sum, KEY),
    },
)

"""Weights of a loss's terms beside their formula in NumPy, step by step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.methods.base import Objective
from diffop.methods.gauss_newton import Memory as GaussNewtonMemory

from ..refused import refusals

pytestmark = pytest.mark.usefixtures("x64")

KEY = jax.random.key(0)
FIRST, SECOND = np.array([1.0, 2.0]), np.array([3.0, -0.5])


class Quadratic(eqx.Module):
    """Two terms whose gradients at θ are known: a |θ − p|² / 2 and b |θ − q|² / 2."""

    sizes: tuple[float, float] = (10.0, 1e-3)

    def terms(self, model, key):
        del key
        return {
            "residual": self.sizes[0] * jnp.sum((model - FIRST) ** 2) / 2,
            "data": self.sizes[1] * jnp.sum((model - SECOND) ** 2) / 2,
        }

    def __call__(self, model, key):
        return sum(self.terms(model, key).values())


class Squares(eqx.Module):
    """The same, told as sums of squares."""

    sizes: tuple[float, float] = (10.0, 1e-3)

    def residuals(self, model, key):
        del key
        roots = np.sqrt(np.array(self.sizes) / 2)
        return {"residual": roots[0] * (model - FIRST), "data": [roots[1] * (model - SECOND)]}

    def terms(self, model, key):
        return Quadratic(self.sizes).terms(model, key)


class Points(eqx.Module):
    """The same, a number of each vector being a point."""

    sizes: tuple[float, float] = (10.0, 1e-3)

    def pointwise(self, model, key):
        del model, key
        which, (a, b) = jnp.arange(2), self.sizes
        missed = lambda root, target: lambda model, i: root * (model - target)[i]
        return {
            "residual": do.losses.Pointwise(missed(np.sqrt(a / 2), FIRST), which),
            "data": [do.losses.Pointwise(missed(np.sqrt(b / 2), SECOND), which)],
        }

    def terms(self, model, key):
        return Quadratic(self.sizes).terms(model, key)


def by_formula(steps, rate, every, keep, sizes=(10.0, 1e-3)):
    """Gradient descent with the weights of Wang et al. 2023, algorithm 1."""
    theta, weights, losses = np.zeros(2), np.ones(2), []
    for step in range(steps):
        gradients = [sizes[0] * (theta - FIRST), sizes[1] * (theta - SECOND)]
        if step % every == 0:
            norms = np.array([np.linalg.norm(g) for g in gradients])
            weights = keep * weights + (1 - keep) * norms.sum() / norms
        squares = np.sum((theta - FIRST) ** 2), np.sum((theta - SECOND) ** 2)
        losses.append(np.dot(sizes, squares) / 2)
        theta = theta - rate * (weights[0] * gradients[0] + weights[1] * gradients[1])
    return theta, weights, np.array(losses)


@pytest.mark.parametrize(("every", "keep"), [(1, 0.9), (3, 0.5), (100, 0.0)])
def test_weights_and_steps(every, keep):
    optimiser = do.methods.Balanced(optax.sgd(1e-3), every=every, keep=keep)
    loss: Any = Quadratic()
    *_, last = do.train.iterate(jnp.zeros(2), loss, optimiser, 7, key=KEY)
    theta, weights, losses = by_formula(7, 1e-3, every, keep)
    np.testing.assert_allclose(last.model, theta, rtol=1e-12)
    np.testing.assert_allclose(last.losses, losses, rtol=1e-12)  # without the weights
    got = last.optimiser.weights
    np.testing.assert_allclose([got["residual"], got["data"]], weights, rtol=1e-12)
    assert got["gpinn"] == 1  # there is none


@pytest.mark.parametrize("loss", [Squares(), Points()])
def test_sums_of_squares(loss):
    """A Gauss–Newton step of a weighted quadratic ends at its minimum, (λap + μbq)/(λa + μb)."""
    method = do.methods.Balanced(do.methods.GaussNewton(damping=0.0), keep=0.0)
    start = jnp.zeros(2)
    step = jax.jit(
        lambda memory: method.step(Objective(loss, None), start, memory, KEY, jnp.array(0))
    )
    theta, memory, (value, terms) = step(method.init(start))
    assert isinstance(memory.memory, GaussNewtonMemory)
    (a, b), (norm_a, norm_b) = (
        loss.sizes,
        (10 * np.linalg.norm(FIRST), 1e-3 * np.linalg.norm(SECOND)),
    )
    a, b = a * (norm_a + norm_b) / norm_a, b * (norm_a + norm_b) / norm_b
    np.testing.assert_allclose(theta, (a * FIRST + b * SECOND) / (a + b), rtol=1e-8)
    expected = Quadratic().terms(start, KEY)
    np.testing.assert_allclose(value, sum(expected.values()), rtol=1e-12)
    assert set(terms) == {"residual", "data"}


def test_what_has_no_gradient_keeps_its_weight():
    loss = Quadratic((10.0, 0.0))
    method = do.methods.Balanced(optax.sgd(0.1), keep=0.0)
    theta = jnp.zeros(2)
    _, memory, evaluated = method.step(
        Objective(loss, None), theta, method.init(theta), KEY, jnp.array(0)
    )
    assert memory.weights["data"] == 1
    assert np.isfinite(evaluated.value)


def test_gradients_out_of_the_range_of_squares():
    """Norms of 1e-25 and 1e25 in single precision."""
    theta = jnp.zeros(2, jnp.float32)
    method = do.methods.Balanced(optax.sgd(0.0), keep=0.0)

    class Tiny(eqx.Module):
        def terms(self, model, key):
            del key
            return {"residual": 1e-25 * (1 + model[0]), "data": 1e-23 * (1 + model[1])}

    _, memory, _ = method.step(
        Objective(Tiny(), None), theta, method.init(theta), KEY, jnp.array(0)
    )
    np.testing.assert_allclose(memory.weights["residual"], 101, rtol=1e-6)
    assert memory.weights["residual"].dtype == jnp.float32


QUADRATIC: Any = Quadratic()


def fitted(loss, **options):
    method = do.methods.Balanced(optax.sgd(1.0), **options)
    return lambda: do.train.fit(jnp.ones(2), loss, method, 1, key=KEY)


def test_residuals_without_names():
    """They are those of "loss", as without balance."""

    class Loss:
        def residuals(self, model, key):
            return model - 2.0

        def terms(self, model, key):
            return {"loss": jnp.sum((model - 2.0) ** 2)}

    method = do.methods.Balanced(do.methods.GaussNewton(), terms=("loss",))
    fit = do.train.fit(jnp.ones(2), Loss(), method, 3, key=jax.random.key(0))
    np.testing.assert_allclose(fit.model, 2.0, rtol=1e-5)


test_bad_input = refusals(
    {
        "steps between new weights, must be at least 1; got 0": (
            lambda: do.methods.Balanced(optax.adam(1e-3), every=0)
        ),
        "Balanced changes the loss between steps, and LBFGS compares these; take an opt": (
            lambda: do.methods.Balanced(do.methods.LBFGS())
        ),
        r"a loss with terms among a, got data, residual; say them: terms=\('data', 'residual'\)": (
            fitted(QUADRATIC, terms=("a",))
        ),
    },
    {
        "expects a loss that says what it is the sum of, by a method terms": fitted(
            lambda u, key: jnp.sum(u)
        )
    },
)

"""Losses that say what they are sums of squares of, and the formulas of their steps in NumPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import diffop as do
from diffop.methods.base import step_key

KEY = jax.random.key(0)


class Linear(eqx.Module):
    """|A θ − b|²."""

    matrix: Array
    right: Array

    def residuals(self, theta, key):
        return self.matrix @ theta - self.right


def linear(rows, columns, seed=0):
    """A random linear problem and where to begin."""
    rng = np.random.default_rng(seed)
    problem = Linear(
        jnp.asarray(rng.normal(size=(rows, columns))), jnp.asarray(rng.normal(size=rows))
    )
    return problem, jnp.asarray(rng.normal(size=columns))


class Curve(eqx.Module):
    """a exp(b x) + c at random points against a function, and a condition at 0: two terms, at
    points and all at once.
    """

    count: int = eqx.field(static=True, default=20)

    def pointwise(self, model, key):
        points = jax.random.uniform(key, (self.count,))
        return {
            "residual": do.losses.Pointwise(self._missed, points),
            "data": do.losses.Pointwise(
                lambda m, x: [m["a"] + m["c"] - x, m["c"] * x], jnp.ones(1)
            ),
        }

    def _missed(self, model, x):
        return (self.value(model, x) - jnp.cos(x)) / self.count**0.5

    @staticmethod
    def value(model, x):
        return model["a"] * jnp.exp(model["b"] * x) + model["c"]


class AllAtOnce(eqx.Module):
    """The same residuals, of which it is not known which points they belong to."""

    loss: Curve

    def residuals(self, model, key):
        return {name: each(model) for name, each in self.loss.pointwise(model, key).items()}


def start():
    return {name: jnp.asarray(value) for name, value in {"a": 0.8, "b": -0.3, "c": 0.1}.items()}


def dense(loss, key, index):
    """Residuals and derivatives of a step, as functions of the parameters as one vector."""
    drawn = step_key(key, index)
    _, unravel = jax.flatten_util.ravel_pytree(start())

    def residuals(theta):
        values = AllAtOnce(loss).residuals(unravel(theta), drawn)
        return jax.flatten_util.ravel_pytree([values["residual"], values["data"]])[0]

    return residuals, jax.jacfwd(residuals)


def damped(r, J, prior, damping):
    """argmin |r − J d|² + λ |d − p|², from the normal equations."""
    shift = damping * np.sum(J**2) / len(J)
    return np.linalg.solve(J.T @ J + shift * np.eye(J.shape[1]), J.T @ r + shift * prior)


def vector(model):
    return np.asarray(jax.flatten_util.ravel_pytree(model)[0])


def after(loss, model, method, steps=1, **given):
    return do.train.fit(model, loss, method, steps, key=KEY, **given)

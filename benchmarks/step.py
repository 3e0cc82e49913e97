"""What a training step consists of: each part's time beside that of the whole step.

    python -m benchmarks.step --dim 1000 100000

Two-body Allen-Cahn in the unit ball, 16 jets, Adam. XLA may fuse parts of a step, so the parts need
not add up to it.
"""

from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import diffop as do

from .command import run_alone
from .estimates import JETS
from .program import Program
from .sizes import Dimension, dimensions
from .subjects import ansatz, ball_points
from .table import Row
from .timing import interleaved_medians
from .training import OURS, WAYS, training

CASE = "part of a training step"


def sampled(kind: str, count: int, dim: int) -> Callable[[], jax.Array]:
    """The points of a step, from a key of a kind."""
    key = jax.random.key(1, impl=kind)
    return Program(lambda key: do.pde.unit_ball(key, count, dim), key)


def parts(dim: int, count: int) -> dict[str, Callable[[], Any]]:
    problem = do.pde.AllenCahnTwoBody(dim, key=jax.random.key(3))
    u = ansatz(dim)
    points = ball_points(count, dim)
    parameters = eqx.filter(u, eqx.is_inexact_array)

    def source(problem: Any, points: jax.Array) -> jax.Array:
        return jax.vmap(problem.source)(points)

    def value(u: Any, points: jax.Array) -> jax.Array:
        return jnp.mean(jax.vmap(u)(points) ** 2)

    def estimated(u: Any, key: jax.Array, points: jax.Array) -> jax.Array:
        operators = {"u": do.Identity(), "lap": do.Laplacian()}
        values = jax.vmap(do.estimate(operators, key, JETS)(u))(points)
        return jnp.mean((values["lap"] + values["u"] - values["u"] ** 3) ** 2)

    return {
        "points, threefry": sampled("threefry2x32", count, dim),
        "points, rbg": sampled("rbg", count, dim),
        "source": Program(source, problem, points),
        "u and its gradient": Program(eqx.filter_value_and_grad(value), u, points),
        "estimated operators and their gradient": Program(
            eqx.filter_value_and_grad(estimated), u, jax.random.key(5), points
        ),
        "optimiser": Optimiser(parameters),
    }


@final
class Optimiser:
    """Adam, with parameters and state that are replaced as in training."""

    def __init__(self, parameters: Any):
        adam = optax.adam(1e-3)
        # what is donated must not be another's
        self._state = jax.tree.map(jnp.copy, (parameters, adam.init(parameters)))
        self._gradient = jax.tree.map(jnp.ones_like, parameters)

        def update(state: Any, gradient: Any) -> Any:
            parameters, memory = state
            updates, memory = adam.update(gradient, memory, parameters)
            return optax.apply_updates(parameters, updates), memory

        self._update = jax.jit(update, donate_argnums=0)

    def __call__(self) -> Any:
        self._state = self._update(self._state, self._gradient)
        return self._state


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    calls = parts(size.d, points)
    whole = training(WAYS[OURS], size.d, points)
    *each, step = interleaved_medians([*calls.values(), whole], repeats)
    return [
        Row(CASE, size, name, "whole step", 1e3 * seconds, 1e3 * step)
        for name, seconds in zip(calls, each, strict=True)
    ]


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(1_000, 100_000), repeats=10)

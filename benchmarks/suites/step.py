"""What a training step consists of: each part's time beside that of the whole step.

XLA may fuse parts of a step, so the parts need not add up to it.
"""

from collections.abc import Callable, Iterator
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import diffop as do

from ..harness.case import Case, Scope
from ..harness.program import Program, Runnable, compiled, temporary_mb
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed
from ..harness.table import Table, duration, grid
from ..subjects.networks import ansatz, ball_points
from ..subjects.steps import JETS, OPS, OURS, POINTS, training

PROBLEM = "allen-cahn-two-body"
WHOLE = "whole step"


class Step(AbstractTimed):
    name = "step"
    title = "parts of a training step of two-body Allen-Cahn"

    def cases(self, scope: Scope) -> Iterator[Case]:
        for dim in scope.pick([10], [1000], [1000, 100_000]):
            for method in scope.pick(["source"], [WHOLE, *_PARTS], [WHOLE, *_PARTS]):
                yield self.case(method, dim=dim)

    def program(self, case: Case) -> Runnable:
        dim = case.whole("dim")
        if case.method == WHOLE:
            return training(OURS, PROBLEM, dim)
        return _PARTS[case.method](dim)

    def beside(self, case: Case) -> Case | None:
        return None if case.method == WHOLE else case._replace(method=WHOLE)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield grid("parts", ours, "dim", _share, "part, d =")


def _share(record: Record) -> str:
    text = duration(record)
    return text + (f", {record.values['ratio']:.0%}" if "ratio" in record.values else "")


def _points(kind: str) -> Callable[[int], Program]:
    """The points of a step, from a key of a kind."""

    def program(dim: int) -> Program:
        key = jax.random.key(1, impl=kind)
        return Program(lambda key: do.pde.unit_ball_by_radius(key, POINTS, dim), key)

    return program


def _source(dim: int) -> Program:
    def source(problem: Any, points: jax.Array) -> jax.Array:
        return jax.vmap(problem.source)(points)

    problem = do.pde.make(PROBLEM, dim, key=jax.random.key(3))
    return Program(source, problem, ball_points(POINTS, dim))


def _value(dim: int) -> Program:
    def value(u: Any, points: jax.Array) -> jax.Array:
        return jnp.mean(jax.vmap(u)(points) ** 2)

    return Program(eqx.filter_value_and_grad(value), ansatz(dim), ball_points(POINTS, dim))


def _estimated(dim: int) -> Program:
    def estimated(u: Any, key: jax.Array, points: jax.Array) -> jax.Array:
        values = jax.vmap(do.estimate(OPS, key, JETS)(u))(points)
        return jnp.mean((values["lap"] + values["u"] - values["u"] ** 3) ** 2)

    arguments = ansatz(dim), jax.random.key(5), ball_points(POINTS, dim)
    return Program(eqx.filter_value_and_grad(estimated), *arguments)


@final
class Optimiser:
    """Adam, with parameters and state that are replaced as in training."""

    def __init__(self, dim: int):
        adam = optax.adam(1e-3)
        parameters = eqx.filter(ansatz(dim), eqx.is_inexact_array)
        # what is donated must not be another's
        self._state = jax.tree.map(jnp.copy, (parameters, adam.init(parameters)))
        self._gradient = jax.tree.map(jnp.ones_like, parameters)

        def update(state: Any, gradient: Any) -> Any:
            parameters, memory = state
            updates, memory = adam.update(gradient, memory, parameters)
            return optax.apply_updates(parameters, updates), memory

        self._update, self.compile_seconds = compiled(
            jax.jit(update, donate_argnums=0), self._state, self._gradient
        )
        self.temporary_mb = temporary_mb(self._update)

    def __call__(self) -> Any:
        self._state = self._update(self._state, self._gradient)
        return self._state


_PARTS: dict[str, Callable[[int], Runnable]] = {
    "points, threefry": _points("threefry2x32"),
    "points, rbg": _points("rbg"),
    "source": _source,
    "u and its gradient": _value,
    "estimated operators and their gradient": _estimated,
    "optimiser": Optimiser,
}

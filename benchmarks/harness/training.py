"""Training steps, compiled as training does: Adam, and a state that is donated."""

from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import optax

from .program import compiled, temporary_mb

Loss = Callable[[Any, jax.Array, Any], jax.Array]


@final
class Training:
    """A training under way: each call makes one step and returns the loss before it.

    `loss(u, key, context)` is minimised by the parameters of u, with a new key at each step. The
    arrays of `context` are arguments of the compiled program, not constants in it.
    """

    def __init__(self, loss: Loss, u: Any, context: Any = None):
        parameters, static = eqx.partition(u, eqx.is_inexact_array)
        self.parameters = sum(leaf.size for leaf in jax.tree.leaves(parameters))
        self._context, rest = eqx.partition(context, eqx.is_array)
        optimiser = optax.adam(optax.linear_schedule(1e-3, 0.0, 10_000))
        self._state = (parameters, optimiser.init(parameters), jax.random.key(4))

        def step(state: Any, context: Any) -> tuple[Any, jax.Array]:
            parameters, memory, key = state
            key, now = jax.random.split(key)
            context = eqx.combine(context, rest)
            value, gradient = jax.value_and_grad(
                lambda parameters: loss(eqx.combine(parameters, static), now, context)
            )(parameters)
            updates, memory = optimiser.update(gradient, memory, parameters)
            return (optax.apply_updates(parameters, updates), memory, key), value

        # The state is donated, as training does: parameters are replaced, not copied.
        self._compiled, self.compile_seconds = compiled(
            jax.jit(step, donate_argnums=0), self._state, self._context
        )
        self.temporary_mb = temporary_mb(self._compiled)

    def __call__(self) -> jax.Array:
        self._state, value = self._compiled(self._state, self._context)
        return value

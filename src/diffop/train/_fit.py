"""Minimising a random loss: many steps for each dispatch, state kept in place."""

import time
from collections.abc import Callable
from typing import NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ._chunks import largest_divisor

Loss = Callable[[PyTree, PRNGKeyArray], Float[Array, ""]]
Observer = Callable[[int, PyTree, np.ndarray], None]


@final
class NonFiniteLossError(RuntimeError):
    """The loss was not a finite number at some step, so training stopped there."""


@final
class Fit(NamedTuple):
    """What `diffop.train.fit` returns.

    - `model`: the trained model.
    - `losses`: the loss at each step, before the step was made; shape `(steps,)`.
    - `seconds`: how long the steps took, without compiling and without the observer.
    - `compile_seconds`: how long compiling took.
    """

    model: PyTree
    losses: np.ndarray
    seconds: float
    compile_seconds: float


def fit(
    model: PyTree,
    loss: Loss,
    optimiser: optax.GradientTransformation,
    steps: int,
    *,
    key: PRNGKeyArray,
    steps_per_dispatch: int = 100,
    observe: Observer | None = None,
) -> Fit:
    """Minimises `loss(model, key)`, with a fresh key at each step.

    The steps run in dispatches of at most `steps_per_dispatch` under `jax.lax.scan`, and the state
    is donated from one to the next. Step t uses `jax.random.fold_in(key, t)`, so the result does
    not depend on how the steps are divided.

    **Arguments:**

    - `model`: a pytree; its inexact arrays are trained. It is not changed.
    - `loss`: a function or module from the model and a key to a scalar. The arrays of a module are
        passed as arguments rather than compiled in as constants.
    - `optimiser`: from optax.
    - `steps`: how many steps, at least 1.
    - `key`: a key from `jax.random.key`.
    - `steps_per_dispatch`: at most how many steps between looks at the result, at least 1.
    - `observe`: called after each dispatch with the number of steps made, the model and the
        dispatch's losses. The model's arrays are reused afterwards: copy what is to be kept.

    **Returns:** a `diffop.train.Fit`.

    **Raises:** `NonFiniteLossError` naming the step if the loss is not finite; `ValueError` if
    `steps` or `steps_per_dispatch` is less than 1.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        loss = lambda x, key: jnp.sum((x - jax.random.normal(key, (2,))) ** 2)
        do.train.fit(jnp.ones(2), loss, optax.sgd(0.01), 200, key=jax.random.key(0)).model
        ```
    """
    if steps < 1 or steps_per_dispatch < 1:
        raise ValueError(
            f"fit expects steps and steps_per_dispatch of at least 1, got {steps} and "
            f"{steps_per_dispatch}; ask for at least one step."
        )
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    parameters = jax.tree.map(jnp.array, parameters)  # the caller's own must survive the donation
    state = (parameters, optimiser.init(parameters))
    arrays, rest = eqx.partition(loss, eqx.is_array)

    def run(state, arrays, key, indices):
        def objective(parameters, key):
            return eqx.combine(arrays, rest)(eqx.combine(parameters, static), key)

        return _run_steps(objective, optimiser, state, key, indices)

    programs = _Programs(run)
    losses: list[np.ndarray] = []
    seconds = 0.0
    for indices in _dispatches(steps, steps_per_dispatch):
        program = programs.compiled_for(state, arrays, key, indices)
        started = time.perf_counter()
        state, new = jax.block_until_ready(program(state, arrays, key, indices))
        seconds += time.perf_counter() - started
        losses.append(np.asarray(new))
        _check_finite(losses[-1], int(indices[0]), steps)
        if observe is not None:
            observe(int(indices[-1]) + 1, eqx.combine(state[0], static), losses[-1])
    return Fit(
        eqx.combine(state[0], static), np.concatenate(losses), seconds, programs.compile_seconds
    )


def _run_steps(objective, optimiser, state, key, indices):
    def step(state, index):
        parameters, memory = state
        value, gradient = jax.value_and_grad(objective)(parameters, jax.random.fold_in(key, index))
        # optax mixes its integer step count with floats; a user's strict settings are for others
        with jax.numpy_dtype_promotion("standard"):
            updates, memory = optimiser.update(gradient, memory, parameters)
            parameters = optax.apply_updates(parameters, updates)
        return (parameters, memory), value

    return jax.lax.scan(step, state, indices)


def _dispatches(steps: int, limit: int) -> list[np.ndarray]:
    """The step numbers 0 … steps − 1, in runs of equal length where those are not too short."""
    length = largest_divisor(steps, limit)
    if 4 * length < min(steps, limit):
        length = limit  # a shorter last run costs one more compilation, many short runs cost more
    numbers = np.arange(steps, dtype=np.int32)
    return [numbers[start : start + length] for start in range(0, steps, length)]


@final
class _Programs:
    """The compiled runs, one for each length, and how long compiling took."""

    def __init__(self, run: Callable):
        self._jitted = jax.jit(run, donate_argnums=0)
        self._programs: dict[int, Callable] = {}
        self.compile_seconds = 0.0

    def compiled_for(self, state, arrays, key, indices) -> Callable:
        length = len(indices)
        if length not in self._programs:
            started = time.perf_counter()
            lowered = self._jitted.lower(state, arrays, key, indices)
            self._programs[length] = lowered.compile()
            self.compile_seconds += time.perf_counter() - started
        return self._programs[length]


def _check_finite(losses: np.ndarray, first: int, steps: int) -> None:
    bad = np.flatnonzero(~np.isfinite(losses))
    if bad.size:
        raise NonFiniteLossError(
            f"the loss became {losses[bad[0]]} at step {first + int(bad[0]) + 1} of {steps}; a "
            f"smaller learning rate usually helps."
        )

"""The loop of a fit: many steps for each dispatch, with the state kept in place."""

import time
from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from typing import Any, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from ..equations.equation import AbstractEquation, opened
from ..held import Held
from ..least_squares.protocol import HasPointwise, HasResiduals
from ..methods.base import Objective
from ..methods.first_order import as_method
from ..methods.optimisers import Optimiser as Optimiser
from ..parallel.mesh import Layout, in_context
from ..parallel.processes import interruptible
from ..scalars import largest_divisor
from .asked import check_asked, check_mesh, check_model, check_steps

Loss: TypeAlias = Callable[[PyTree, PRNGKeyArray], Float[Array, ""]] | HasResiduals | HasPointwise

_Carry: TypeAlias = tuple[PyTree, PyTree]
"""The parameters, and the memory of the method."""


@final
class State(NamedTuple):
    """The state of a fit: with the fit's arguments it determines the next step.

    - `step`: how many steps were made.
    - `model`: the model after them.
    - `optimiser`: the optimiser's state.
    - `losses`: the loss at each step, before the step was made; shape `(step,)`.
    - `seconds`: how long the steps took, without compiling and without the time in between.
    - `compile_seconds`: how long compiling took.
    - `error`: the relative L2 error on a tenth of the test points, for listeners of a run of
        `diffop.train.solve`, if it was measured after the last step; otherwise None.

    !!! example

        ```python
        import jax.numpy as jnp, optax
        import diffop as do

        do.train.State.initial(jnp.ones(2), optax.sgd(0.01)).step  # 0
        ```
    """

    step: int
    model: PyTree
    optimiser: PyTree
    losses: np.ndarray
    seconds: float
    compile_seconds: float
    error: float | None = None

    @classmethod
    def initial(cls, model: PyTree, optimiser: Optimiser, mesh: Mesh | None = None) -> "State":
        """The state before the first step.

        **Arguments:**

        - `model`, `optimiser`, `mesh`: as for `diffop.train.fit`.

        **Returns:** a `diffop.train.State`.
        """
        layout = Layout(mesh, model)
        model = jax.tree.map(_trainable, layout.shard(model))
        parameters = eqx.filter(model, eqx.is_inexact_array)
        memory = jax.tree.map(jnp.asarray, as_method(optimiser).init(parameters))
        return cls(0, model, layout.shard(memory), np.zeros(0), 0.0, 0.0)


def _trainable(leaf: Any) -> Any:
    """A parameter in JAX's precision, as all later states have it; anything else as it is."""
    return jnp.asarray(leaf) if eqx.is_inexact_array(leaf) else leaf


@final
class Outcome(NamedTuple):
    """The losses of a dispatch's steps, their terms by name, and whether all parameters are finite
    after the last step.
    """

    losses: Float[Array, " steps"]
    terms: dict[str, Float[Array, " steps"]]
    finite: Bool[Array, ""]


def recent_loss(state: State) -> float:
    """The mean of the last 100 losses, or of all if there are fewer."""
    return float(np.mean(state.losses[-100:]))


def without_arrays(state: State) -> State:
    """A state without references to the arrays of the model and the optimiser."""
    return state._replace(model=None, optimiser=None)


def iterate(
    model: PyTree,
    loss: Loss,
    optimiser: Optimiser,
    steps: int,
    *,
    key: PRNGKeyArray,
    steps_per_dispatch: int = 100,
    start: State | None = None,
    mesh: Mesh | None = None,
) -> Iterator[State]:
    """Minimises as `diffop.train.fit` does, and yields the state after each dispatch.

    Use it for your own training loop: between two dispatches you can do anything, and stop at any
    time.

    **Arguments:** as for `diffop.train.fit`, and

    - `start`: the state of an equal fit, to continue from; by default the initial state. It is not
        changed. The steps are divided as if they had begun at 0, so that equal programs run and the
        results are those of an uninterrupted fit.

    **Returns:** an iterator over `diffop.train.State`s. The next dispatch reuses the arrays of
    each: copy what you keep.

    **Raises:** as `diffop.train.fit`; `ValueError` if `start` has made more steps than `steps`.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        loss = lambda x, key: jnp.sum((x - jax.random.normal(key, (2,))) ** 2)
        for state in do.train.iterate(
            jnp.ones(2), loss, optax.sgd(0.01), 1000, key=jax.random.key(0)
        ):
            if state.losses[-100:].mean() < 2.2:
                break
        ```
    """
    check_asked(loss, steps, steps_per_dispatch, key)
    start = State.initial(model, optimiser, mesh) if start is None else start
    method = as_method(optimiser)
    arrays, rest = eqx.partition(_opened(loss), eqx.is_array)
    parameters, static = eqx.partition(start.model, eqx.is_inexact_array)
    check_steps(steps, steps_per_dispatch, start.step)
    check_model(start.model, loss)
    check_mesh(method, mesh)
    layout, held = Layout(mesh, start.model), Held((method, rest, static))
    carry = layout.owned((parameters, start.optimiser))
    start = without_arrays(start)  # there is no room for a large network twice
    dispatches = _dispatches(steps, steps_per_dispatch)
    return _states(held, layout, layout.shard((arrays, key)), carry, start, dispatches)


def _states(
    held: Held,
    layout: Layout,
    constants: tuple[PyTree, PRNGKeyArray],
    carry: _Carry,
    start: State,
    dispatches: list[np.ndarray],
) -> Iterator[State]:
    (method, _, static), steps = held.value, int(dispatches[-1][-1]) + 1
    programs: dict[int, Callable] = {}  # by how many steps they make
    losses, seconds, compile_seconds = None, start.seconds, start.compile_seconds
    for indices in dispatches:
        indices = indices[indices >= start.step]
        if not indices.size:
            continue
        if indices.size not in programs:
            began = time.perf_counter()
            programs[indices.size] = _compiled(held, layout, carry, *constants, indices)
            compile_seconds += time.perf_counter() - began
        program, began = programs[indices.size], time.perf_counter()
        carry, made = interruptible(jax.block_until_ready, program(carry, *constants, indices))
        seconds += time.perf_counter() - began
        first, last = int(indices[0]), int(indices[-1]) + 1
        check_finite(made, first, steps, method.helps)
        if losses is None:
            losses = np.empty(steps, made.losses.dtype)
            losses[: start.step] = start.losses
        losses[first:last] = made.losses
        model = eqx.combine(carry[0], static)
        yield State(last, model, carry[1], losses[:last], seconds, compile_seconds)


def _opened(loss: Loss) -> Any:
    """A loss whose arrays are leaves; only the model is trained."""
    return jax.tree.map(opened, loss, is_leaf=lambda node: isinstance(node, AbstractEquation))


def _compiled(held: Held, layout: Layout, carry: _Carry, *others: PyTree) -> Callable:
    """The program of a dispatch for arguments of these types, which donates the carry."""
    with in_context(layout.mesh):
        alone = layout.mesh is None
        program = _shared(held) if alone else layout.jit(_dispatch(held, layout), carry)
        lowered = program.lower(carry, *others)
    return interruptible(lowered.compile)


@lru_cache(maxsize=8)  # it keeps what functions of users refer to, and the programs
def _shared(held: Held) -> jax.stages.Wrapped:
    """On one device, one program for all fits that differ in their arrays alone."""
    return jax.jit(_dispatch(held, Layout(None, None)), donate_argnums=0)


def _dispatch(held: Held, layout: Layout) -> Callable[..., tuple[_Carry, Outcome]]:
    """The steps of a dispatch as a function of all arrays, for a method, a loss and a model without
    theirs.
    """
    method, loss, model = held.value

    def steps(
        carry: _Carry, arrays: PyTree, key: PRNGKeyArray, indices: Int[Array, " steps"]
    ) -> tuple[_Carry, Outcome]:
        objective = Objective(eqx.combine(arrays, loss), model)

        def step(carry: _Carry, index: Array) -> Any:
            parameters, memory, evaluated = method.step(objective, *carry, key, index)
            return (parameters, memory), evaluated

        carry = jax.tree.map(layout.enter, carry)
        carry, (losses, terms) = jax.lax.scan(step, carry, indices)
        outcome = Outcome(losses, terms, _all_finite(carry[0]))
        return jax.tree.map(layout.leave, carry), outcome

    return steps


def _all_finite(parameters: PyTree) -> Bool[Array, ""]:
    leaves = jax.tree.leaves(parameters)
    return reduce(jnp.logical_and, [jnp.isfinite(leaf).all() for leaf in leaves], jnp.array(True))


def _dispatches(steps: int, limit: int) -> list[np.ndarray]:
    """The step numbers 0 … steps − 1, in runs of equal length unless these would be too short."""
    length = largest_divisor(steps, limit)
    if 4 * length < min(steps, limit):
        length = limit  # a shorter last run costs one more compilation, many short runs cost more
    numbers = np.arange(steps, dtype=np.int32)
    return [numbers[start : start + length] for start in range(0, steps, length)]


@final
class NonFiniteLossError(RuntimeError):
    """Training stopped because the loss, or a parameter, was not a finite number.

    - `step`: the step where this happened; the first one is 1.
    - `terms`: the names of the terms of the loss that were not finite.
    - `checkpoint`: a sentence that says where the newest checkpoint is, all of whose parameters are
        finite; None if there are no checkpoints.

    **Arguments:** these, and

    - `what`: what was not finite.
    - `helps`: advice.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        try:
            do.train.fit(
                jnp.ones(2), lambda x, key: -x @ x, optax.sgd(9.0), 100, key=jax.random.key(0)
            )
        except do.train.NonFiniteLossError as error:
            error.step
        ```
    """

    def __init__(
        self,
        what: str,
        step: int,
        terms: tuple[str, ...],
        checkpoint: str | None = None,
        helps: str = "a smaller learning rate",
    ):
        super().__init__(what, step, terms, checkpoint, helps)
        self.step, self.terms, self.checkpoint = step, terms, checkpoint
        self._what, self._helps = what, helps

    def __str__(self) -> str:
        known = "" if self.checkpoint is None else f"; {self.checkpoint}"
        return f"{self._what}{known}; {self._helps} usually helps."


def check_finite(outcome: Outcome, first: int, steps: int, helps: str) -> None:
    """Checks the results of a dispatch, `first` steps having been made before it, before anything
    else uses them.

    **Raises:** `NonFiniteLossError` naming the step, and the terms of the loss that were not
    finite.
    """
    losses = np.asarray(outcome.losses)
    bad = np.flatnonzero(~np.isfinite(losses))
    if bad.size:
        raise _bad_loss(outcome, int(bad[0]), first, steps, helps)
    if not outcome.finite:
        # a parameter that the loss does not use, or one that the last step has ruined
        last = first + losses.size
        raise NonFiniteLossError(
            f"a parameter was not finite after step {last} of {steps}, while the loss was",
            last,
            (),
            helps=helps,
        )


def _bad_loss(
    outcome: Outcome, index: int, first: int, steps: int, helps: str
) -> NonFiniteLossError:
    values = {name: float(np.asarray(each)[index]) for name, each in outcome.terms.items()}
    bad = tuple(name for name, value in values.items() if not np.isfinite(value))
    step = first + index + 1
    what = f"the loss became {np.asarray(outcome.losses)[index]} at step {step} of {steps}"
    if values.keys() != {"loss"}:
        terms = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
        what = f"{what} (its terms: {terms})"
    return NonFiniteLossError(what, step, bad, helps=helps)

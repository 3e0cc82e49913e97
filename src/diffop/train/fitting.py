"""Minimising a random loss in one call, and what is done between its dispatches: looking on,
checkpoints, and stopping by a signal.
"""

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, TypeAlias, final

import numpy as np
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray, PyTree

from ..parallel.mesh import has_several_processes
from ..parallel.processes import Interrupted, Stop, gathered, is_first
from ..streams import VERSION
from .checkpoints import Checkpoints
from .iteration import Loss, NonFiniteLossError, Optimiser, State, iterate, without_arrays
from .loggers import tell

Observer: TypeAlias = Callable[[int, PyTree, np.ndarray], object]
"""Called with `(step, model, losses)` after each dispatch."""


@final
class Fit(NamedTuple):
    """What `diffop.train.fit` returns.

    - `model`: the trained model.
    - `losses`: the loss at each step, before the step was made; shape `(steps,)`, of the steps that
        were made.
    - `seconds`: how long the steps took, without compiling and without the observer.
    - `compile_seconds`: how long compiling took.

    A fit that went on from a checkpoint counts the seconds before it, too: those of the steps that
    the checkpoint had made, and of compiling for them.
    """

    model: PyTree
    losses: np.ndarray
    seconds: float
    compile_seconds: float


def fit(
    model: PyTree,
    loss: Loss,
    optimiser: Optimiser,
    steps: int,
    *,
    key: PRNGKeyArray,
    steps_per_dispatch: int = 100,
    observe: Observer | None = None,
    checkpoints: Checkpoints | None = None,
    mesh: Mesh | None = None,
) -> Fit:
    """Minimises `loss(model, key)`, with a fresh key at each step.

    The steps run in dispatches of at most `steps_per_dispatch` under `jax.lax.scan`, and the state
    is donated from one to the next. The key of a step is made of `key` and its number, so the
    result does not depend on how the steps are divided.

    **Arguments:**

    - `model`: a pytree; its inexact arrays are trained. It is not changed.
    - `loss`: a function or module from the model and a key to a scalar. The arrays of a module are
        passed as arguments rather than compiled in as constants. If its class has a method `terms`,
        from the same arguments to scalars by name, the loss is their sum, and errors name them. For
        `diffop.train.GaussNewton`, one that says what it is the sum of squares of:
        `diffop.train.HasPointwise` or `diffop.train.HasResiduals`.
    - `optimiser`: from optax, or `diffop.train.GaussNewton`, or `diffop.train.LBFGS`.
    - `steps`: how many steps, at least 1.
    - `key`: a key from `jax.random.key`.
    - `steps_per_dispatch`: at most how many steps between looks at the result, at least 1.
    - `observe`: called after each dispatch with the number of steps made, the model and the
        dispatch's losses. The model's arrays are reused afterwards: copy what is to be kept. To end
        the fit there it raises `StopIteration`; the same call goes on from the last checkpoint.
    - `checkpoints`: a `diffop.train.Checkpoints`. The fit goes on from the newest one, if there
        is any, which is said in a line, and saves new ones when they are due. The result is, bit
        for bit on a CPU, that of a fit that was never interrupted. More `steps` than before may be
        asked for; a checkpoint of another model, loss, optimiser or key is refused
        (`diffop.train.Checkpoints.identify`).
    - `mesh`: devices to divide the work over, a `jax.sharding.Mesh` with the axes `data` and
        `model`, or one of them. The points that a `diffop.train.ResidualLoss` draws are divided
        over `data`; their coordinates, and the weights and the optimiser's state that belong to
        them, over `model` (`diffop.train.shard`). The result is that of one device, to rounding. A
        loss of one's own divides its points with `diffop.train.shard_points`.

    **Returns:** a `diffop.train.Fit`.

    **Raises:** `NonFiniteLossError` naming the step if the loss or a parameter is not finite;
    `ValueError` if `steps` or `steps_per_dispatch` is less than 1, if the model has no inexact
    arrays, or not those that the equation of a `diffop.train.ResidualLoss` says are to be learnt,
    if the mesh has other axes, or if it has several devices and the optimiser is not from optax;
    `TypeError` if the loss does not say what it is the sum of squares of and the optimiser asks for
    that; what `diffop.train.Checkpoints.newest` raises. Where the mesh has devices of several
    processes Ctrl-C or SIGTERM in one of them raises `diffop.train.Interrupted` in all, after the
    running steps and a last checkpoint.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        loss = lambda x, key: jnp.sum((x - jax.random.normal(key, (2,))) ** 2)
        do.train.fit(jnp.ones(2), loss, optax.sgd(0.01), 200, key=jax.random.key(0)).model
        ```
    """
    start = State.initial(model, optimiser, mesh)
    if checkpoints is not None:
        parts = {"model": model, "loss": loss, "optimiser": optimiser}
        checkpoints.identify(**parts, key=(key, VERSION))  # what is drawn follows from both
        start = _gone_on(checkpoints, start, steps)
    made = start.step

    def look(state: State) -> None:
        nonlocal made
        losses, made = state.losses[made:], state.step
        if observe is not None:
            observe(state.step, state.model, losses)

    states = iterate(
        model,
        loss,
        optimiser,
        steps,
        key=key,
        steps_per_dispatch=steps_per_dispatch,
        start=start,
        mesh=mesh,
    )
    if start.step < steps:
        start = without_arrays(start)  # they were copied
    with _stop(mesh) as stop:
        state = follow(states, start, steps, look, checkpoints=checkpoints, stop=stop)
    if checkpoints is not None and is_first():
        checkpoints.remove_damaged()
    return Fit(state.model, state.losses, state.seconds, state.compile_seconds)


def follow(
    states: Iterator[State],
    state: State,
    steps: int,
    look: Callable[[State], object],
    *,
    checkpoints: Checkpoints | None,
    stop: Stop | None,
    save: Callable[[State], object] | None = None,
    again: str = "the same call",
) -> State:
    """Goes through the states of a fit.

    **Arguments:**

    - `states`: as `iterate` gives them.
    - `state`: the one before them.
    - `steps`: how many steps there will be in all.
    - `look`: called with each state; it may raise `StopIteration`, to end there.
    - `checkpoints`: written when they are due, at a signal, and where it ends.
    - `stop`: listens to signals; None where the process alone is concerned by them.
    - `save`: how a checkpoint is written, if it has more in it than the state.
    - `again`: what goes on from a checkpoint, in words.

    **Returns:** the last state.

    **Raises:** `NonFiniteLossError` naming the newest checkpoint; `Interrupted` after SIGINT or
    SIGTERM.
    """
    ended, number, saved = False, None, state.step
    try:
        for state in states:
            ended = _ends(look, state)
            if stop is not None:  # all processes do as the first
                number, ended = stop.everywhere(), bool(gathered(ended)[0])
            if ended or number is not None:
                break
            if checkpoints is not None and checkpoints.due(state.step):
                (save or checkpoints.save)(state)
                saved = state.step
    except NonFiniteLossError as error:
        # the bad dispatch was not seen here, so every checkpoint is from before it
        raise error.with_checkpoint(newest(checkpoints)) from None
    if stop is not None and number is None:
        number = stop.everywhere()
    if checkpoints is not None and checkpoints.wanted and (ended or number) and saved != state.step:
        (save or checkpoints.save)(state)
    if number is not None:
        there = "" if checkpoints is None else f" ({newest(checkpoints)}); {again} goes on"
        name = signal.Signals(number).name
        raise Interrupted(f"stopped by {name} after step {state.step} of {steps}{there}.", number)
    return state


def _gone_on(checkpoints: Checkpoints, start: State, steps: int) -> State:
    """Where a fit goes on, with a word about it if that is not its start."""
    saved = checkpoints.newest(start)
    if saved is None:
        return start
    made = saved.state.step
    if made == steps:
        tell(f"the fit in {checkpoints.directory} has ended: nothing to do.")
    elif 0 < made < steps:
        tell(f"going on after step {made} in {checkpoints.directory}.")
    return saved.state


def newest(checkpoints: Checkpoints | None) -> str | None:
    """Where the newest checkpoint is, in words."""
    if checkpoints is None:
        return None
    step = checkpoints.last()
    if step is None:
        return "there is no checkpoint"
    return f"the last good checkpoint is {checkpoints.path(step)}"


def _ends(look: Callable[[State], object], state: State) -> bool:
    try:
        look(state)
    except StopIteration:
        return True
    return False


def _stop(mesh: Mesh | None) -> AbstractContextManager[Stop | None]:
    """Processes that train together wait for one another, so none may leave alone."""
    if mesh is None or not has_several_processes(mesh):
        return contextlib.nullcontext()
    return Stop(lambda text: print(f"diffop: {text}", file=sys.stderr))

"""Minimising a random loss in one call."""

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray, PyTree

from ..extras import require
from ..parallel.processes import Stop, is_first
from ..streams import VERSION
from .asked import check_asked
from .checkpoints import Checkpoints, Saved
from .iteration import Loss, Optimiser, State, iterate
from .listeners import AbstractListener
from .loggers import Bar, tell
from .progress import Progress

Observer: TypeAlias = Callable[[int, PyTree, np.ndarray], object]
"""Called with `(step, model, losses)` after each dispatch."""


@final
class Fit(NamedTuple):
    """What `diffop.train.fit` returns.

    - `model`: the trained model.
    - `losses`: the loss at each step that was made, before the step; shape `(steps,)`.
    - `seconds`: how long the steps took, without compiling and without the observer.
    - `compile_seconds`: how long compiling took.

    If a fit continued from a checkpoint, the seconds include those of the steps before it, and of
    compiling for them.
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
    listeners: Sequence[AbstractListener] = (),
    checkpoints: Checkpoints | None = None,
    mesh: Mesh | None = None,
    progress: bool = False,
) -> Fit:
    """Minimises `loss(model, key)`, with a fresh key at each step.

    The steps run in dispatches of at most `steps_per_dispatch` under `jax.lax.scan`, and the state
    is donated from one to the next. The key of a step follows from `key` and its number, so the
    result does not depend, up to rounding, on how the steps are divided.

    **Arguments:**

    - `model`: a pytree; its inexact arrays are trained. It is not changed.
    - `loss`: a function or module from the model and a key to a scalar. The arrays of a module are
        passed as arguments, not compiled as constants, so that fits which differ only in arrays
        share a program. As with `jax.jit`, what a function reads from elsewhere, such as a global
        or an attribute, is part of the program: a second fit with the same function does not see
        that it has changed. If its class has a method `terms`, from the same arguments to scalars
        by name, the loss is their sum, and errors name them. For `diffop.methods.GaussNewton` it
        has to give the numbers whose squares it sums: `diffop.methods.HasPointwise` or
        `diffop.methods.HasResiduals`.
    - `optimiser`: from optax, or `diffop.methods.GaussNewton`, or `diffop.methods.LBFGS`.
    - `steps`: how many steps, at least 1.
    - `key`: a key from `jax.random.key`.
    - `steps_per_dispatch`: at most how many steps between looks at the result, at least 1.
    - `observe`: a listener that is a function: called after each dispatch with the number of steps
        made, the model and the dispatch's losses. The model's arrays are reused afterwards: copy
        what you keep. To end the fit there, raise `StopIteration`; the same call then continues
        from the last checkpoint.
    - `listeners`: called with the state after each dispatch: [`diffop.train.EarlyStopping`][], and
        your own `diffop.train.AbstractListener`s.
    - `checkpoints`: a `diffop.train.Checkpoints`. The fit continues from the newest one, if there
        is any, and says so; it saves new ones when they are due. With equal `steps` and
        `steps_per_dispatch` the result is, bit for bit on a CPU, that of a fit that was never
        interrupted. You may ask for more `steps` than before. A checkpoint of another model, loss,
        optimiser or key is refused (`diffop.train.Checkpoints.identify`).
    - `mesh`: devices to divide the work over, a `jax.sharding.Mesh` with the axes `data` and
        `model`, or one of them. The points that a `diffop.losses.ResidualLoss` draws are divided
        over `data`; their coordinates, and the weights and the optimiser's state that belong to
        them, over `model` (`diffop.train.shard`). The result is that of one device, to rounding.
        Your own loss divides its points with `diffop.train.shard_points`.
    - `progress`: whether to show the steps, the loss, the speed and the time left on the error
        stream, as a bar on a terminal and otherwise as a line twice a minute. This needs the extra
        `train`.

    **Returns:** a `diffop.train.Fit`.

    **Raises:** `NonFiniteLossError` naming the step if the loss or a parameter is not finite.
    `ValueError` if `steps` or `steps_per_dispatch` is less than 1, if the model has no inexact
    arrays, or lacks arrays that the equation of a `diffop.losses.ResidualLoss` learns, if the mesh
    has other axes, or if it has several devices and the optimiser is not from optax. `TypeError` if
    the loss does not take a model and a key, is no single number, or does not give the numbers
    whose squares it sums and the optimiser needs them, or if `steps`, `key`, `optimiser` or
    `checkpoints` has a wrong type. `MissingExtraError` if `progress` lacks its extra. It also
    raises what `diffop.train.Checkpoints.newest` raises. If the mesh has devices of several
    processes, Ctrl-C or SIGTERM in one of them raises `diffop.train.Interrupted` in all, after the
    running steps and a last checkpoint.

    !!! example

        ```python
        import jax, jax.numpy as jnp, optax
        import diffop as do

        loss = lambda x, key: jnp.sum((x - jax.random.normal(key, (2,))) ** 2)
        do.train.fit(jnp.ones(2), loss, optax.sgd(0.01), 200, key=jax.random.key(0)).model
        ```
    """
    check_asked(loss, steps, steps_per_dispatch, key)
    if not isinstance(checkpoints, Checkpoints | None):
        raise TypeError(
            f"fit expects checkpoints such as diffop.train.Checkpoints('out'), got {checkpoints!r}."
        )
    heard = _checked_listeners(observe, listeners)
    if progress:
        require("the progress of a fit", "train", ("tqdm",))
    start = Saved(State.initial(model, optimiser, mesh), {})
    if checkpoints is not None:
        parts = {"model": model, "loss": loss, "optimiser": optimiser}
        checkpoints.identify(**parts, key=(key, VERSION))  # the draws follow from both
        start = _gone_on(checkpoints, start, steps)
    if observe is not None:
        heard.append(_Observing(observe, start.state.step))
    states = iterate(
        model,
        loss,
        optimiser,
        steps,
        key=key,
        steps_per_dispatch=steps_per_dispatch,
        start=start.state,
        mesh=mesh,
    )
    if progress and is_first():
        heard.append(Bar(start.state.step, steps))
    between = Progress(steps, heard, start, checkpoints=checkpoints)
    del start  # with its arrays
    with between, _stop(mesh) as stop:
        state = between.through(states, stop)
    if checkpoints is not None and is_first():
        checkpoints.remove_damaged()
    return Fit(state.model, state.losses, state.seconds, state.compile_seconds)


def _checked_listeners(observe: Any, listeners: Any) -> list[AbstractListener]:
    """The listeners in a list: an iterator gives them once.

    **Raises:** `TypeError` for an observer that cannot be called, and for what is no listener.
    """
    if observe is not None and not callable(observe):
        raise TypeError(
            f"fit expects observe to be a function (step, model, losses), got {observe!r}."
        )
    heard = [*listeners] if isinstance(listeners, Iterable) else None
    if heard is None or not all(isinstance(each, AbstractListener) for each in heard):
        raise TypeError(
            "fit expects listeners in a list, such as [diffop.train.EarlyStopping(10)], got "
            f"{listeners!r}."
        )
    return heard


@final
class _Observing(AbstractListener):
    """A listener that is a function."""

    def __init__(self, observe: Observer, made: int):
        self._observe, self._made = observe, made

    def after(self, state: State) -> None:
        losses, self._made = state.losses[self._made :], state.step
        self._observe(state.step, state.model, losses)


def _gone_on(checkpoints: Checkpoints, start: Saved, steps: int) -> Saved:
    """Where a fit continues, with a message unless that is the start."""
    saved = checkpoints.newest(start.state)
    if saved is None:
        return start
    made = saved.state.step
    if made == steps:
        tell(f"the fit in {checkpoints.directory} has ended: nothing to do.")
    elif 0 < made < steps:
        tell(f"going on after step {made} in {checkpoints.directory}.")
    return saved


def _stop(mesh: Mesh | None) -> AbstractContextManager[Stop | None]:
    """Processes that train together wait for one another, so none may stop alone."""
    if mesh is None or not mesh.is_multi_process:
        return contextlib.nullcontext()
    return Stop(lambda text: print(f"diffop: {text}", file=sys.stderr))

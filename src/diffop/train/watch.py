"""A run while it trains: noted, written to checkpoints, stopped by signals."""

import signal
from collections.abc import Iterator

from .checkpoints import Checkpoints
from .iteration import State
from .outcome import NonFiniteLossError
from .progress import Progress
from .stop import Interrupted, Stop


def watch(
    states: Iterator[State],
    start: State,
    steps: int,
    progress: Progress,
    checkpoints: Checkpoints,
    stop: Stop,
) -> State:
    """Goes through the states of a run.

    **Arguments:**

    - `states`: as `iterate` gives them.
    - `start`: the state before them.
    - `steps`: how many steps there will be in all.
    - `progress`: called with each state.
    - `checkpoints`: written when they are due, and at a signal.
    - `stop`: listens to signals.

    **Returns:** the last state.

    **Raises:** `NonFiniteLossError` naming the newest checkpoint; `Interrupted` after SIGINT or
    SIGTERM.
    """
    state, number = start, None
    saved = start.step or None  # a fit that goes on comes from a checkpoint
    try:
        for state in states:
            progress(state)
            number = stop.everywhere()
            if number is not None:
                break
            if checkpoints.due(state.step):
                _save(state, progress, checkpoints)
                saved = state.step
    except NonFiniteLossError as error:
        # the bad dispatch was not seen here, so every checkpoint is from before it
        raise error.with_checkpoint(newest(checkpoints)) from None
    number = number or stop.everywhere()
    if number is not None:
        if checkpoints.wanted and saved != state.step:
            _save(state, progress, checkpoints)
        raise _interrupted(number, state.step, steps, checkpoints)
    return state


def newest(checkpoints: Checkpoints) -> str:
    """Where the newest checkpoint is, in words."""
    step = checkpoints.last()
    if step is None:
        return "there is no checkpoint"
    return f"the last good checkpoint is {checkpoints.path(step)}"


def _save(state: State, progress: Progress, checkpoints: Checkpoints) -> None:
    checkpoints.save(state, progress.notes(), progress.score(state))


def _interrupted(number: int, step: int, steps: int, checkpoints: Checkpoints) -> Interrupted:
    return Interrupted(
        f"stopped by {signal.Signals(number).name} after step {step} of {steps} "
        f"({newest(checkpoints)}); the same command with --resume (resume=True) goes on.",
        number,
    )

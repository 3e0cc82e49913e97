"""What happens between two dispatches of a fit: errors are measured, listeners called, checkpoints
written, and signals heeded.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final

from ..parallel.processes import Interrupted, Stop, gathered_from_processes
from ..runs.evaluate import FixedPoints, NoPoints
from .checkpoints import Checkpoints, Saved
from .iteration import NonFiniteLossError, State, without_arrays
from .listeners import AbstractListener
from .memory import peak_memory_mb

_MEASUREMENTS = 50
_FRACTION = 0.1
_SHARE = 0.1  # of a run's time may go into errors on the way
_FREE = 2.0  # seconds that they may take in any case
_NOTHING = {"errors": [], "seconds": 0.0, "resumed_at": [], "peak_memory_mb": 0.0, "listeners": {}}


@final
class Progress:
    """Goes through the states of a fit with its listeners, which are closed at the end.

    Errors are measured from time to time, on the first tenth of the test points, and less often if
    that would take more than a tenth of the run and more than two seconds.

    **Arguments:**

    - `steps`: how many steps there will be.
    - `listeners`: called with each state.
    - `start`: the state before the first step, and the notes of earlier parts of the fit.
    - `points`: the test points, if there are any.
    - `checkpoints`: written when they are due, at a signal, and when a listener ends the fit.
    - `again`: what continues from a checkpoint, in words.
    """

    def __init__(
        self,
        steps: int,
        listeners: Sequence[AbstractListener],
        start: Saved,
        *,
        points: FixedPoints | NoPoints | None = None,
        checkpoints: Checkpoints | None = None,
        again: str = "the same call",
    ):
        known, made = {**_NOTHING, **start.notes}, start.state.step
        self.errors: list[tuple[int, float]] = [(step, error) for step, error in known["errors"]]
        self.resumed_at: list[int] = known["resumed_at"] + ([made] if made else [])
        self._peak_before: float = known["peak_memory_mb"]
        self._began = time.monotonic() - known["seconds"]
        # where steps are made, its arrays were copied, and there may be no room for them twice
        self._start = without_arrays(start.state) if made < steps else start.state
        self._points = NoPoints() if points is None else points
        self._steps = steps
        self._checkpoints = checkpoints
        self._again = again
        self._spent: float | None = None  # seconds; the first time is mostly compiling
        self._listeners = dict(_named(listeners))
        for name, noted in known["listeners"].items():
            if name in self._listeners:
                self._listeners[name].resume(noted)

    def through(self, states: Iterable[State], stop: Stop | None) -> State:
        """Goes through states.

        **Arguments:**

        - `states`: as `iterate` gives them.
        - `stop`: listens to signals; None if the process trains alone.

        **Returns:** the last state.

        **Raises:** what listeners raise; `NonFiniteLossError` naming the newest checkpoint;
        `Interrupted` after SIGINT or SIGTERM.
        """
        state = self._start
        ended, number, kept = False, None, state.step
        try:
            for state in states:
                ended = not _goes_on(self, state)
                if stop is not None:  # all processes follow the first
                    number, ended = stop.everywhere(), bool(gathered_from_processes(ended)[0])
                if ended or number is not None:
                    break
                if self._checkpoints is not None and self._checkpoints.due(state.step):
                    self.keep(state)
                    kept = state.step
        except NonFiniteLossError as error:
            # this dispatch was not seen here, so every checkpoint is older
            if self._checkpoints is not None:
                error.checkpoint = self._checkpoints.last_in_words()
            raise
        if stop is not None and number is None:
            number = stop.everywhere()
        if (ended or number is not None) and kept != state.step:
            self.keep(state, ended=number is None)
        if number is not None:
            raise self._interrupted(number, state.step)
        self._notes()
        return state

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with contextlib.ExitStack() as stack:  # if one fails, the others are still closed
            for each in reversed(self._listeners.values()):
                stack.push(lambda k, *_, each=each: each.close((kind or k) is not None))

    def __call__(self, state: State) -> None:
        """Measures the error if it is due, and calls all listeners with a state.

        **Raises:** `StopIteration` if a listener has.
        """
        if state.step == self._steps or self._due(state.step):
            state = state._replace(error=self._measure(state))
            if state.error is not None:
                self.errors.append((state.step, state.error))
        if not all([_goes_on(each.after, state) for each in self._listeners.values()]):
            raise StopIteration

    def keep(self, state: State, ended: bool = False) -> None:
        """Writes a checkpoint, whether it is due or not, and notes whether a listener has ended the
        fit there.
        """
        if self._checkpoints is not None and self._checkpoints.wanted:
            notes = {**self._notes(), "ended": ended}
            self._checkpoints.save(state, notes, self._score(state))

    @property
    def peak_memory_mb(self) -> float:
        """The peak so far, over all parts of the run."""
        return max(self._peak_before, peak_memory_mb())

    def _interrupted(self, number: int, step: int) -> Interrupted:
        there = ""
        if self._checkpoints is not None:
            there = f" ({self._checkpoints.last_in_words()}); {self._again} goes on"
        name = signal.Signals(number).name
        return Interrupted(f"stopped by {name} after step {step} of {self._steps}{there}.", number)

    def _notes(self) -> dict[str, Any]:
        """What a fit that continues from here has to know of the past, beside the state."""
        noted = {name: each.notes() for name, each in self._listeners.items()}
        return {
            "errors": self.errors,
            "seconds": self._seconds(),
            "resumed_at": self.resumed_at,
            "peak_memory_mb": self.peak_memory_mb,
            "listeners": {name: each for name, each in noted.items() if each is not None},
        }

    def _score(self, state: State) -> float | None:
        """The error of a state, which ranks checkpoints; None if it is not known."""
        if self.errors and self.errors[-1][0] == state.step:
            return self.errors[-1][1]
        return self._measure(state)

    def _due(self, step: int) -> bool:
        if not self._points.count or step < len(self.errors) * self._steps / _MEASUREMENTS:
            return False
        affordable = (self._spent or 0.0) <= max(_FREE, _SHARE * self._seconds())
        return bool(
            gathered_from_processes(affordable)[0]
        )  # clocks differ, so the first process decides

    def _measure(self, state: State) -> float | None:
        began = time.monotonic()
        errors = self._points.errors(state.model, _FRACTION)
        self._spent = 0.0 if self._spent is None else self._spent + time.monotonic() - began
        return None if errors is None else errors.rel_l2

    def _seconds(self) -> float:
        return time.monotonic() - self._began


def _goes_on(told: Callable[[State], object], state: State) -> bool:
    """Calls a listener with a state; whether the fit goes on."""
    try:
        told(state)
    except StopIteration:
        return False
    return True


def _named(listeners: Iterable[AbstractListener]) -> Iterator[tuple[str, AbstractListener]]:
    """Listeners by the names of their classes, with numbers if a class occurs several times."""
    found: list[str] = []
    for each in listeners:
        name = type(each).__qualname__
        found.append(name)
        yield (name if found.count(name) == 1 else f"{name} {found.count(name)}"), each

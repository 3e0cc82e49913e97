"""What a run shows and notes while it goes on."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from .bar import Bar
from .evaluate import FixedPoints, NoPoints
from .iteration import State
from .memory import peak_memory_mb
from .metrics import AbstractLogger, Metric
from .processes import gathered

_MEASUREMENTS = 50
_FRACTION = 0.1
_SHARE = 10  # they take at most one part in so many of the time


@final
class _Measured(NamedTuple):
    """When errors were last measured, and how long that took; None before the first time."""

    time: float
    duration: float | None


@final
class Progress:
    """Notes losses, errors and times between dispatches, and passes them on.

    The errors are measured from time to time, on the first tenth of the test points, and less often
    where that would take more than a tenth of the run.

    **Arguments:**

    - `points`: the test points, if there are any.
    - `steps`: how many steps there will be.
    - `loggers`: where the numbers go; they are closed at the end.
    - `made`: how many steps were made before.
    - `notes`: the notes of then, if a run is resumed.
    """

    def __init__(
        self,
        points: FixedPoints | NoPoints,
        steps: int,
        loggers: Sequence[AbstractLogger],
        made: int = 0,
        notes: dict[str, Any] | None = None,
    ):
        notes = notes or {"errors": [], "seconds": 0.0, "resumed_at": [], "peak_memory_mb": 0.0}
        self.errors: list[tuple[int, float]] = [(step, error) for step, error in notes["errors"]]
        self.resumed_at: list[int] = notes["resumed_at"] + ([made] if made else [])
        self._peak_before: float = notes["peak_memory_mb"]
        self._began = time.monotonic() - notes["seconds"]
        self._points = points
        self._steps = steps
        self._loggers = loggers
        self._made = made
        self._measured = _Measured(time.monotonic(), None)
        self._bar = Bar(made, steps)

    def __call__(self, state: State) -> None:
        """Notes what a dispatch has made."""
        losses = state.losses[self._made :]
        self._made = state.step
        measured = state.step == self._steps or self._due(state.step)
        error = self._measure(state) if measured else None
        if error is not None:
            self.errors.append((state.step, error))
        metric = Metric(state.step, float(np.mean(losses)), error, self._seconds())
        for logger in self._loggers:
            logger.log(metric)
        self._bar.move(metric)

    def notes(self) -> dict[str, Any]:
        """What a run that goes on from here has to know of the past, beside the state and what the
        loggers have, which is on the disk then.
        """
        for logger in self._loggers:
            logger.sync()
        return {
            "errors": self.errors,
            "seconds": self._seconds(),
            "resumed_at": self.resumed_at,
            "peak_memory_mb": self.peak_memory_mb,
        }

    def score(self, state: State) -> float | None:
        """The error of a state, by which the best checkpoint is found; None where none is known."""
        if self.errors and self.errors[-1][0] == state.step:
            return self.errors[-1][1]
        return self._measure(state)

    @property
    def peak_memory_mb(self) -> float:
        """The peak so far, over all parts of the run."""
        return max(self._peak_before, peak_memory_mb())

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bar.close()
        for logger in self._loggers:
            logger.close(failed=kind is not None)

    def _due(self, step: int) -> bool:
        passed = time.monotonic() - self._measured.time
        affordable = passed >= (_SHARE - 1) * (self._measured.duration or 0.0)
        affordable = bool(gathered(affordable)[0])  # clocks differ: the first process decides
        return affordable and step >= len(self.errors) * self._steps / _MEASUREMENTS

    def _measure(self, state: State) -> float | None:
        began = time.monotonic()
        errors = self._points.errors(state.model, _FRACTION)
        ended = time.monotonic()
        compiled = self._measured.duration is None  # the first one says little of the others
        self._measured = _Measured(ended, 0.0 if compiled else ended - began)
        return None if errors is None else errors.rel_l2

    def _seconds(self) -> float:
        return time.monotonic() - self._began

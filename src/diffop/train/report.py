"""What a run tells of itself: while it trains, and in its report."""

import dataclasses
import math
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, final

import equinox as eqx
import jax
import numpy as np

from ..parallel.mesh import in_words, sizes_of
from ..parallel.processes import gathered
from .disk import environment
from .evaluate import FixedPoints, NoPoints
from .iteration import State
from .loggers import AbstractLogger, Metric
from .settings import Settings

try:
    import resource
except ImportError:  # Windows
    resource = None

_MEASUREMENTS = 50
_FRACTION = 0.1
_SHARE = 0.1  # of a run's time is for errors on the way
_FREE = 2.0  # seconds that they may take in any case
_RECENT = 100  # steps over which the loss is averaged


@final
class Progress:
    """Notes losses, errors and times between dispatches, and passes them on.

    The errors are measured from time to time, on the first tenth of the test points, and less often
    where that would take more than a tenth of the run and more than two seconds.

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
        self._spent: float | None = None  # seconds; the first time is mostly compiling

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
        for logger in self._loggers:
            logger.close(failed=kind is not None)

    def _due(self, step: int) -> bool:
        if step < len(self.errors) * self._steps / _MEASUREMENTS:
            return False
        affordable = (self._spent or 0.0) <= max(_FREE, _SHARE * self._seconds())
        return bool(gathered(affordable)[0])  # clocks differ: the first process decides

    def _measure(self, state: State) -> float | None:
        began = time.monotonic()
        errors = self._points.errors(state.model, _FRACTION)
        self._spent = 0.0 if self._spent is None else self._spent + time.monotonic() - began
        return None if errors is None else errors.rel_l2

    def _seconds(self) -> float:
        return time.monotonic() - self._began


def peak_memory_mb() -> float:
    """The peak so far in 10⁶ bytes: the accelerator's if there is one, else the process's. Of
    several accelerators it is that of the process's first.

    0 where the system does not tell.
    """
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in statistics:
        return statistics["peak_bytes_in_use"] / 1e6
    if resource is None:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def memory_bytes() -> int | None:
    """How much there is for the arrays of this process: of its accelerators together if there are
    any, else of the machine; None where the system does not tell.
    """
    statistics = [device.memory_stats() or {} for device in jax.local_devices()]
    limits = [each["bytes_limit"] for each in statistics if "bytes_limit" in each]
    if limits:
        return sum(limits)
    names = ("SC_PHYS_PAGES", "SC_PAGE_SIZE")
    if not set(names) <= set(getattr(os, "sysconf_names", ())):
        return None
    return os.sysconf(names[0]) * os.sysconf(names[1])


@final
@dataclasses.dataclass(frozen=True)
class Report:
    """The numbers of one run; `report.json` holds the same under the same names.

    - `problem`, `dim`, `steps`, `n`, `seed`: what was solved.
    - `rel_l1`, `rel_l2`: relative errors on fixed test points.
    - `null_rel_l2`: the relative L2 error of the null model, one fitted number and no network, on
        the same points. The number is fitted to the solution; to the data instead where only
        reference values of the solution are known.
    - `skill`: `null_rel_l2 / rel_l2`; at 1 or below the network has learnt nothing of use. It is
        infinite where the network misses nothing and the null model does; and 1 where neither does:
        the network is right, and so is one fitted number. It and the errors are None for a problem
        that says nothing of its solution.
    - `loss`: the mean of the last 100 losses, or of all if there are fewer.
    - `it_per_s`: training steps per second, without compiling and measuring.
    - `compile_s`: seconds spent compiling.
    - `peak_memory_mb`: in units of $10⁶$ bytes.
    - `parameters`: how many numbers were trained.
    - `settings`: all other settings, and how many test points there were.
    - `environment`: the versions and the device that the numbers were made with.
    - `components`: the relative L2 error of each component of a solution with several, by name.
    - `resumed_at`: after how many steps the run was resumed, each time; empty if it never stopped.
    - `mesh`: how many devices there were along each axis of the mesh at the end; empty for one
        device.

    The times of a resumed run are those of all its parts that are in the result: `it_per_s` counts
    every step once, where it was kept, and not the steps that a killed part had made since its last
    checkpoint; `compile_s` counts compiling in each part; `peak_memory_mb` is that of the largest.
    """

    problem: str
    dim: int
    steps: int
    n: int
    seed: int
    rel_l1: float | None
    rel_l2: float | None
    null_rel_l2: float | None
    skill: float | None
    it_per_s: float
    compile_s: float
    peak_memory_mb: float
    parameters: int
    settings: dict[str, Any]
    environment: dict[str, str]
    loss: float | None = None
    components: dict[str, float] = dataclasses.field(default_factory=dict)
    resumed_at: list[int] = dataclasses.field(default_factory=list)
    mesh: dict[str, int] = dataclasses.field(default_factory=dict)

    def as_text(self) -> str:
        """What the run means, in a few lines."""
        resumed = ", ".join(map(str, self.resumed_at))
        return (
            f"{self._errors()}"
            f"{self.steps} steps at {self.it_per_s:.3g} steps/s, "
            f"compiled in {self.compile_s:.1f} s, "
            f"peak memory {self.peak_memory_mb:.0f} MB, {self.parameters} parameters"
            f"{f', resumed after step {resumed}' if resumed else ''}"
            f"{f', on {in_words(self.mesh)}' if self.mesh else ''}"
        )

    def _errors(self) -> str:
        if self.skill is None:
            return (
                f"loss {self.loss:.2e}; nothing is known of the solution to measure errors with\n"
            )
        if self.rel_l2 == self.null_rel_l2 == 0:
            verdict = "as the null model's: one fitted number is all that there is to learn"
        elif self.skill > 1:
            times = "infinitely many" if math.isinf(self.skill) else f"{self.skill:.1f}"
            verdict = f"{times} times below the null model's {self.null_rel_l2:.2e}"
        else:
            verdict = f"no better than the null model's {self.null_rel_l2:.2e}"
        return (
            f"relative L2 error {self.rel_l2:.2e}, {verdict}\n"
            f"  (the null model is one fitted number, without a network; "
            f"skill = {self.skill:.2f})\n"
            f"relative L1 error {self.rel_l1:.2e} on {self.settings['test_points']} fixed points"
            f"{self._reference()}\n"
            f"{self._components()}"
        )

    def _components(self) -> str:
        """A line where the solution has several."""
        errors = ", ".join(f"{name} {error:.2e}" for name, error in self.components.items())
        return f"relative L2 errors of the components: {errors}\n" if errors else ""

    def _reference(self) -> str:
        """What has to be said of reference values that are not exact."""
        error = self.settings.get("reference_rel_error")
        return f", where the reference is exact to {error:.0e}" if error else ""


def summarise(
    settings: Settings, points: FixedPoints | NoPoints, state: State, progress: Progress
) -> Report:
    """The report of a run that has made all its steps."""
    arrays = jax.tree.leaves(eqx.filter(state.model, eqx.is_inexact_array))
    given = settings.as_json()
    return Report(
        **{name: given.pop(name) for name in ("problem", "dim", "steps", "n", "seed")},
        **_measured(points, state),
        it_per_s=settings.steps / state.seconds,
        compile_s=state.compile_seconds,
        peak_memory_mb=progress.peak_memory_mb,
        parameters=sum(array.size for array in arrays),
        settings={
            **given,
            "test_points": points.count,
            **({"reference_rel_error": points.rel_error} if points.rel_error else {}),
        },
        environment=environment(),
        loss=float(np.mean(state.losses[-_RECENT:])),
        resumed_at=progress.resumed_at,
        mesh=sizes_of(state.model),
    )


def _measured(points: FixedPoints | NoPoints, state: State) -> dict[str, Any]:
    """The errors, beside the null model's."""
    errors, null = points.errors(state.model), points.null_rel_l2
    if errors is None or null is None:
        return dict.fromkeys(("rel_l1", "rel_l2", "null_rel_l2", "skill"))
    components = points.component_errors(state.model)
    return {
        "rel_l1": errors.rel_l1,
        "rel_l2": errors.rel_l2,
        "null_rel_l2": null,
        "skill": _skill(null, errors.rel_l2),
        "components": {name: each.rel_l2 for name, each in components.items()},
    }


def _skill(null: float, error: float) -> float:
    """The null model's error over the network's: 1 for equal ones, also where both are 0."""
    if null == error:
        return 1.0
    return null / error if error else math.inf

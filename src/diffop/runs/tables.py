"""Several runs: a table of their numbers, and a picture of their learning curves.

Runs that differ only in their seeds share a row of a table; each is a curve in a picture.
"""

import math
import pathlib
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple, final

import numpy as np

from ..extras import require_train
from .directory import REPORT, RUN, finished, read, settings_of, started_with
from .metrics import METRICS, read_metrics
from .pictures import Curve, save_curves
from .report import Report
from .settings import Settings, identity, name_of, recommended_settings


@final
class RunOnDisk(NamedTuple):
    """A run in a directory; it has no report while it goes on."""

    path: pathlib.Path
    settings: Settings
    report: Report | None

    def curve(self, label: str) -> Curve:
        """Its losses and errors so far."""
        metrics = read_metrics(self.path)
        if not metrics:
            raise ValueError(f"{self.path} has nothing in its {METRICS} to draw yet.")
        null = self.report.null_rel_l2 if self.report else read(self.path / RUN)["null_rel_l2"]
        steps, losses = zip(*((metric.step, metric.loss) for metric in metrics), strict=True)
        errors = [(metric.step, metric.error) for metric in metrics if metric.error is not None]
        return Curve(label, np.array(steps), np.array(losses), errors, null)

    def steps_made(self) -> int:
        """How many steps it has recorded."""
        metrics = read_metrics(self.path)
        return metrics[-1].step if metrics else 0

    def configuration(self) -> str:
        """Its problem, its size, and settings that are not recommended, in words."""
        given = self.settings
        usual = vars(recommended_settings(given.problem, given.dim))
        changed = [
            name
            for name, value in usual.items()
            if name in ("dim", "steps") or getattr(given, name) != value
        ]
        words = [f"{name.replace('_', '-')}={getattr(given, name)}" for name in changed]
        return " ".join([name_of(given.problem), *words])


def find_runs(directories: Iterable[pathlib.Path]) -> tuple[list[RunOnDisk], list[str]]:
    """The runs in directories, each of which is a run or has runs in its subdirectories; and a
    sentence for each run that cannot be read.

    **Raises:** `FileNotFoundError` if one of them has no run.
    """
    found = [_open(path) for directory in directories for path in _paths(directory)]
    runs = [run for run in found if isinstance(run, RunOnDisk)]
    return runs, [run for run in found if isinstance(run, str)]


def _paths(directory: pathlib.Path) -> list[pathlib.Path]:
    if _holds_run(directory):
        return [directory]
    below = sorted(directory.iterdir()) if directory.is_dir() else []
    paths = [path for path in below if _holds_run(path)]
    if not paths:
        raise FileNotFoundError(
            f"{directory} holds no run; name a directory that was given to --out, or one in which "
            f"there are such."
        )
    return paths


def _holds_run(path: pathlib.Path) -> bool:
    return (path / RUN).is_file() or (path / REPORT).is_file()


def _open(path: pathlib.Path) -> RunOnDisk | str:
    try:
        return RunOnDisk(path, settings_of(started_with(path) or {}), finished(path))
    except ValueError as error:
        return str(error)
    except (AttributeError, KeyError, TypeError) as error:
        return f"{path} is not as a run writes it ({type(error).__name__}: {error})."


_COLUMNS = (
    "runs",
    "skill",
    "rel. L2 error",
    "mean ± std",
    "rel. L1 error",
    "null model",
    "steps/s",
)
_MEANING = "median (lowest – highest); skill = error of the null model / error"


def table(runs: Sequence[RunOnDisk]) -> str:
    """Medians and ranges over runs that differ only in their seeds, beside the null model's error.
    Runs that have not ended, and copies of runs that were counted already (with equal settings and
    seeds), are listed below the table.
    """
    groups: dict[str, dict[tuple[int, str], RunOnDisk]] = {}
    rest = []
    for run in runs:
        if run.report is None:
            steps = f"step {run.steps_made()} of {run.settings.steps}"
            rest.append(f"{run.path} has not ended: {steps}")
            continue
        key = run.settings.seed, identity(run.settings.problem)
        counted = groups.setdefault(run.configuration(), {}).setdefault(key, run)
        if counted is not run:
            rest.append(f"{run.path} has the settings and the seed of {counted.path}: not counted")
    reports = ([run.report for run in group.values() if run.report] for group in groups.values())
    cells = [_COLUMNS, *map(_row, reports)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    titles, *rows = ["  ".join(map(str.rjust, row, widths)) for row in cells]
    if not groups:
        return "\n".join(rest)
    named = [line for pair in zip(groups, rows, strict=True) for line in pair]
    return "\n".join([titles, *named, *rest, _MEANING])


def save_plot(runs: Sequence[RunOnDisk], path: pathlib.Path, overwrite: bool) -> None:
    """Draws the learning curves of runs in one picture.

    **Raises:** `FileExistsError` if the picture exists and `overwrite` is not set; `ValueError` if
    there is nothing to draw yet, or if the format is unknown.
    """
    require_train()
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; name another file with --out, or say --overwrite.")
    configurations = {run.configuration() for run in runs}
    title = configurations.pop() if len(configurations) == 1 else f"{len(runs)} runs"
    save_curves(path, [run.curve(str(run.path)) for run in runs], title)


def _row(reports: Sequence[Report]) -> tuple[str, ...]:
    errors = [report.rel_l2 for report in reports if report.rel_l2 is not None]
    return (
        str(len(reports)),
        _spread((report.skill for report in reports), ".3g"),
        _spread(errors, ".2e"),
        _mean(errors),
        _spread((report.rel_l1 for report in reports), ".2e"),
        _spread((report.null_rel_l2 for report in reports), ".2e"),
        _spread((report.it_per_s for report in reports), ".4g"),
    )


def _spread(known: Iterable[float | None], form: str) -> str:
    values = [value for value in known if value is not None]
    if not values:
        return "not known"
    middle = format(statistics.median(values), form)
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):{form}} – {max(values):{form}})"


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "not known"
    if len(values) == 1:
        return "one run"
    finite = all(map(math.isfinite, values))
    return f"{statistics.mean(values):.2e} ± {statistics.stdev(values) if finite else math.nan:.1e}"

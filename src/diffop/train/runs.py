"""Runs on disk, finished or not."""

import pathlib
from collections.abc import Iterable
from typing import NamedTuple, final

import numpy as np

from .curve import Curve
from .metrics import METRICS, read_metrics
from .output import REPORT, RUN, finished, read_json, settings_of, started_with
from .report import Report
from .settings import Settings


@final
class RunOnDisk(NamedTuple):
    """A run in a directory.

    - `path`: the directory.
    - `settings`: of the run.
    - `report`: None while the run goes on.
    """

    path: pathlib.Path
    settings: Settings
    report: Report | None

    def curve(self, label: str) -> Curve:
        """Its losses and errors, as far as they are there."""
        metrics = read_metrics(self.path)
        if not metrics:
            raise ValueError(f"{self.path} has nothing in its {METRICS} to draw yet.")
        null = self.report.null_rel_l2 if self.report else read_json(self.path / RUN)["null_rel_l2"]
        steps, losses = zip(*((metric.step, metric.loss) for metric in metrics), strict=True)
        errors = [(metric.step, metric.error) for metric in metrics if metric.error is not None]
        return Curve(label, np.array(steps), np.array(losses), errors, null)

    def steps_made(self) -> int:
        """How many steps it has noted."""
        metrics = read_metrics(self.path)
        return metrics[-1].step if metrics else 0


def find_runs(directories: Iterable[pathlib.Path]) -> list[RunOnDisk]:
    """The runs in directories: a run each, or one in each of its subdirectories.

    **Raises:** `FileNotFoundError` if there is none in one of them.
    """
    return [_open(path) for directory in directories for path in _paths(directory)]


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


def _open(path: pathlib.Path) -> RunOnDisk:
    settings = settings_of({"settings": started_with(path)})
    return RunOnDisk(path, settings, finished(path))

"""Runs on disk: the directory of each run, and comparisons of several.

Runs that differ only in their seeds share a row of a table; each is a curve in a picture.
"""

import contextlib
import dataclasses
import errno
import math
import os
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, final

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from ..pde import Recommended
from ..storage import strict_json
from ..storage.disk import remove, replacing, sign
from ..streams import VERSION
from .checkpoints import CheckpointMismatchError, Checkpoints, check_equal
from .loggers import EVENTS, METRICS, read_metrics, require_train_extra
from .pictures import Curve, save_curves
from .report import Report
from .settings import Settings, identity, name_of, recommended

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

REPORT, CURVE, PICTURE, MODEL = "report.json", "curve.png", "solution.png", "model.eqx"
RUN, CHECKPOINTS = "run.json", "checkpoints"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
FORM = 1
"""The version of the format of `run.json` and `report.json`."""

RESULTS = (REPORT, CURVE, PICTURE, MODEL)


@contextlib.contextmanager
def claimed(path: pathlib.Path) -> Iterator[None]:
    """Claims a directory for one run at a time, as long as its process lives.

    **Raises:** `FileExistsError` if another run has claimed it.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if not _locks(descriptor):
            raise FileExistsError(
                f"another run is writing into {path}; wait until it has ended, or name another "
                f"directory."
            )
        yield
    finally:
        os.close(descriptor)


def _locks(descriptor: int) -> bool:
    """Whether no other process has locked it; also true on file systems without locks."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def check_directory(
    path: pathlib.Path, wanted: dict[str, Any], overwrite: bool, resume: bool
) -> None:
    """Checks that a run with the wanted settings may write into a directory, without touching it.

    **Raises:** `ValueError` if both `overwrite` and `resume` are set; `NotADirectoryError` if it is
    a file; `FileExistsError` if it contains anything that may neither be overwritten nor resumed,
    or if another run is writing into it; `CheckpointMismatchError` if the run in it has other
    settings.
    """
    if overwrite and resume:
        raise ValueError(
            "--overwrite (overwrite=True) begins anew and --resume (resume=True) goes on, got both;"
            " choose one of them."
        )
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; name a directory for the results instead.")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if overwrite or resume:
        with claimed(path):
            pass
    if overwrite:
        return
    started = started_with(path) if resume else None
    if started is not None:
        check_equal(path, up_to_date(started), up_to_date(wanted))
        if _waits(path) and read(path / RUN).get("streams", 1) != VERSION:
            raise CheckpointMismatchError(
                f"{path} was begun by another version of diffop, which draws other random numbers "
                f"from a seed; start anew in another directory, or go on with that version."
            )
        return
    raise FileExistsError(
        f"{path} is not empty{' and holds no run to resume' * resume}; name another directory, or "
        f"say --overwrite (overwrite=True) to replace the results in it"
        f"{', or --resume (resume=True) to go on with its run' * _waits(path)}."
    )


def _waits(directory: pathlib.Path) -> bool:
    """Whether the run in a directory has not ended."""
    return (directory / RUN).is_file() and not (directory / REPORT).is_file()


def started_with(directory: pathlib.Path) -> dict[str, Any] | None:
    """The settings of the run in a directory, finished or not, under the names that they had when
    it started; None if there is no run in it.
    """
    described = (directory / RUN, directory / REPORT)  # old runs may have the second alone
    return next((read(path)["settings"] for path in described if path.is_file()), None)


def finished(directory: pathlib.Path) -> Report | None:
    """The report of the run in a directory; None if it has not ended."""
    path = directory / REPORT
    return _made_of(Report, read(path)) if path.is_file() else None


def begin(path: pathlib.Path, run: dict[str, Any], resume: bool) -> None:
    """Writes `run.json`, unless the run in the directory continues.

    Earlier results are removed, so that none outlives a failed run; nothing else is removed. For a
    link to a folder only the link is.
    """
    if resume and (path / RUN).is_file():
        return
    for name in (*RESULTS, RUN, METRICS):
        (path / name).unlink(missing_ok=True)
    for folder in (path / EVENTS, path / CHECKPOINTS):
        if folder.is_symlink():  # files elsewhere do not belong to the run
            remove(folder)
    for events in (path / EVENTS).glob("events.out.tfevents.*"):
        events.unlink()
    Checkpoints(path / CHECKPOINTS).clear()
    _write_json(path / RUN, {"version": FORM, **run})


def save_model(directory: pathlib.Path, model: PyTree) -> None:
    """Writes `model.eqx`: the arrays of the network, followed by their digest."""
    with replacing(directory / MODEL) as file:
        eqx.tree_serialise_leaves(file, model)
        sign(file)


def save_report(directory: pathlib.Path, report: Report) -> None:
    """Writes `report.json`, which marks the run as ended."""
    _write_json(directory / REPORT, {"version": FORM, **dataclasses.asdict(report)})


def written(directory: pathlib.Path) -> tuple[str, ...]:
    """The results present in the directory."""
    return tuple(name for name in RESULTS if (directory / name).is_file())


def settings_of(stored: dict[str, Any]) -> Settings:
    """The settings whose values are in `run.json` or `report.json`."""
    return _made_of(Settings, up_to_date(stored))


def up_to_date(stored: dict[str, Any]) -> dict[str, Any]:
    """Settings of a run that may be older than some of them. A new setting has the value in
    `Recommended` that changes nothing.
    """
    return vars(Recommended()) | stored


def _made_of(cls: Any, values: dict[str, Any]) -> Any:
    """An object of a dataclass, from the values that are its fields."""
    known = {field.name for field in dataclasses.fields(cls)}
    return cls(**{name: value for name, value in values.items() if name in known})


def read(path: pathlib.Path) -> dict[str, Any]:
    """The contents of `run.json` or `report.json`.

    **Raises:** `ValueError` if it is not such a file, or has another version.
    """
    try:
        found = strict_json.loads(path.read_text())
        if not isinstance(found, dict):
            raise ValueError(f"it holds a {type(found).__name__}")
    except ValueError as error:
        raise ValueError(f"{path} is not the JSON file that a run writes: {error}.") from None
    if found.get("version", FORM) != FORM:
        raise ValueError(f"{path} is of another version of diffop; read it with that one.")
    return found


def _write_json(path: pathlib.Path, value: dict[str, Any]) -> None:
    with replacing(path) as file:
        file.write((strict_json.dumps(value, indent=2) + "\n").encode())


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
        usual = vars(recommended(given.problem, given.dim))
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
    require_train_extra()
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

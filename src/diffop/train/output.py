"""The directory of a run: what is written there, and what may be."""

import dataclasses
import json
import os
import pathlib
from typing import Any

import equinox as eqx
from jaxtyping import PyTree

from .checkpoints import Checkpoints, check_equal
from .durable import make_folder, replacing
from .metrics import METRICS
from .report import Report
from .settings import Settings
from .trackers import EVENTS

REPORT, CURVE, PICTURE, MODEL = "report.json", "curve.png", "solution.png", "model.eqx"
RUN, CHECKPOINTS = "run.json", "checkpoints"
_NEW_NAMES = {"estimator": "probes"}
# of runs from before there were such settings
_BEFORE = {"output_scale": 1.0, "fan_in_rate": 0.0, "weights": None, "precision": "default"}
RESULTS = (REPORT, CURVE, PICTURE, MODEL)


def check_directory(
    directory: str | os.PathLike, settings: Settings, overwrite: bool, resume: bool
) -> None:
    """Checks that a run may write into `directory`, without touching it.

    **Raises:** `ValueError` if both `overwrite` and `resume` are set; `NotADirectoryError` if it is
    a file; `FileExistsError` if it has anything in it that may neither be overwritten nor resumed;
    `CheckpointMismatchError` if the run in it has other settings.
    """
    if overwrite and resume:
        raise ValueError(
            "--overwrite (overwrite=True) begins anew and --resume (resume=True) goes on, got both;"
            " choose one of them."
        )
    path = pathlib.Path(directory)
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"{path} is a file; name a directory for the results instead.")
    if overwrite or not path.is_dir() or not any(path.iterdir()):
        return
    started = started_with(path) if resume else None
    if started is not None:
        check_equal(path, up_to_date(started), settings.as_json())
        return
    waits = (path / RUN).is_file() and not (path / REPORT).is_file()
    raise FileExistsError(
        f"{path} is not empty{' and holds no run to resume' * resume}; name another directory, or "
        f"say --overwrite (overwrite=True) to replace the results in it"
        f"{', or --resume (resume=True) to go on with its run' * waits}."
    )


def started_with(directory: pathlib.Path) -> dict[str, Any] | None:
    """The settings of the run in a directory, finished or not, under the names that they had when
    it started; None if there is no run in it.
    """
    if (directory / RUN).is_file():
        return read_json(directory / RUN)["settings"]
    if (directory / REPORT).is_file():
        return settings_of(read_json(directory / REPORT)).as_json()
    return None


def finished(directory: str | os.PathLike) -> Report | None:
    """The report of the run in a directory; None if it has not ended."""
    path = pathlib.Path(directory) / REPORT
    if not path.is_file():
        return None
    known = {field.name for field in dataclasses.fields(Report)}
    return Report(**{name: value for name, value in read_json(path).items() if name in known})


def begin(path: pathlib.Path, run: dict[str, Any], resume: bool) -> None:
    """Makes the directory and writes `run.json`, unless the run in it goes on.

    Earlier results are removed, so that none outlives a failed run; nothing else is.
    """
    if resume and (path / RUN).is_file():
        return
    make_folder(path)
    for name in (*RESULTS, RUN, METRICS):
        (path / name).unlink(missing_ok=True)
    for events in (path / EVENTS).glob("events.out.tfevents.*"):
        events.unlink()
    Checkpoints(path / CHECKPOINTS).clear()
    _write_json(path / RUN, run)


def save_model(directory: pathlib.Path, model: PyTree) -> None:
    """Writes `model.eqx`."""
    with replacing(directory / MODEL) as file:
        eqx.tree_serialise_leaves(file, model)


def save_report(directory: pathlib.Path, report: Report) -> None:
    """Writes `report.json`: the run has ended."""
    _write_json(directory / REPORT, dataclasses.asdict(report))


def written(directory: str | os.PathLike) -> tuple[str, ...]:
    """The results that are in the directory."""
    return tuple(name for name in RESULTS if (pathlib.Path(directory) / name).is_file())


def settings_of(report: dict[str, Any]) -> Settings:
    """The settings of a run, from its report."""
    known = {field.name for field in dataclasses.fields(Settings)}
    everything = up_to_date({**report, **report["settings"]})
    return Settings(**{name: value for name, value in everything.items() if name in known})


def up_to_date(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a run that may be older than some of them, or of their names."""
    return _BEFORE | {_NEW_NAMES.get(name, name): value for name, value in settings.items()}


def read_json(path: pathlib.Path) -> Any:
    """What a JSON file holds.

    **Raises:** `ValueError` naming the file if it is not one.
    """
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is not the JSON file that a run writes: {error}.") from None


def _write_json(path: pathlib.Path, value: dict[str, Any]) -> None:
    with replacing(path) as file:
        file.write((json.dumps(value, indent=2) + "\n").encode())

"""The directory of a run: what is in it, which run may write into it, and what it writes."""

import contextlib
import dataclasses
import errno
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import equinox as eqx
from jaxtyping import PyTree

from ..pde import Recommended
from ..storage import strict_json
from ..storage.disk import make_folder, remove, replacing, sign
from ..storage.mismatch import CheckpointMismatchError, check_equal
from ..storage.stored import clear
from ..streams import VERSION
from .metrics import METRICS
from .report import Report
from .settings import Settings

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

REPORT, CURVE, PICTURE, MODEL = "report.json", "curve.png", "solution.png", "model.eqx"
RUN, CHECKPOINTS, EVENTS = "run.json", "checkpoints", "tensorboard"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
FORM = 1
"""The version of the format of `run.json` and `report.json`."""

RESULTS = (REPORT, CURVE, PICTURE, MODEL)


@contextlib.contextmanager
def claimed(path: pathlib.Path) -> Iterator[None]:
    """Claims a directory for one run at a time, as long as its process lives. It is made if it does
    not exist.

    **Raises:** `FileExistsError` if another run has claimed it; `NotADirectoryError` for a file.
    """
    make_folder(path)
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
        finished(path)  # a report can be read, if there is one
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
    found = next((path for path in described if path.is_file()), None)
    if found is None:
        return None
    settings = read(found).get("settings")
    if not isinstance(settings, dict):
        raise ValueError(f"{found} is not as a run writes it: it has no settings.")
    return settings


def finished(directory: pathlib.Path) -> Report | None:
    """The report of the run in a directory; None if it has not ended."""
    path = directory / REPORT
    try:
        return _made_of(Report, read(path)) if path.is_file() else None
    except TypeError as error:
        raise ValueError(f"{path} is not as a run writes it ({error}).") from None


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
    clear(path / CHECKPOINTS)
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

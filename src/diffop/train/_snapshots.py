"""Single checkpoints on disk, written and read by orbax.

Orbax writes into a directory beside the checkpoint's and renames it at the end, so that a
checkpoint is there as a whole or not at all. It does not see all damage that is done later (its
arrays have no checksums), and says what it sees in many lines; so digests of all files are written
after it, and a checkpoint is one that has them.
"""

import contextlib
import errno
import logging
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._digests import write_digests

_MARGIN = 2**20  # bytes for names, shapes and digests


def write(
    directory: pathlib.Path, step: int, arrays: dict[str, list[np.ndarray]], notes: dict[str, Any]
) -> None:
    """Writes the checkpoint of a step, and removes what is left of those that were not finished.

    **Raises:** `OSError` or `ValueError` if it cannot be written, such as on a full disk. Nothing
    of it is left then.
    """
    import orbax.checkpoint as ocp  # an extra: imported where it is used

    items = ocp.args.Composite(arrays=ocp.args.StandardSave(arrays), notes=ocp.args.JsonSave(notes))
    options = ocp.CheckpointManagerOptions(
        cleanup_tmp_directories=True,
        # the arrays are donated to the next dispatch
        enable_async_checkpointing=False,
    )
    if (directory / str(step)).exists():
        raise FileExistsError(f"{directory / str(step)} exists")
    directory.mkdir(parents=True, exist_ok=True)
    _check_space(directory, sum(array.nbytes for each in arrays.values() for array in each))
    try:
        with _quiet(), ocp.CheckpointManager(directory.absolute(), options=options) as manager:
            manager.save(step, args=items)
        write_digests(directory / str(step))
    except BaseException:
        for path in (directory / str(step), *unfinished(directory)):
            shutil.rmtree(path, ignore_errors=True)
        raise


def _check_space(directory: pathlib.Path, size: int) -> None:
    """Orbax would notice, too, but its threads would go on and print tracebacks."""
    if shutil.disk_usage(directory).free < size + _MARGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def unfinished(directory: pathlib.Path) -> list[pathlib.Path]:
    """What is left of checkpoints that were never finished."""
    return list(directory.glob("*.orbax-checkpoint-tmp"))


def read_notes(path: pathlib.Path) -> dict[str, Any]:
    """The notes of a checkpoint."""
    return _read(path, "notes", "JsonRestore")


def read_arrays(path: pathlib.Path) -> dict[str, list[np.ndarray]]:
    """The arrays of a checkpoint."""
    return _read(path, "arrays", "StandardRestore")


def _read(path: pathlib.Path, name: str, how: str) -> Any:
    import orbax.checkpoint as ocp

    items = ocp.args.Composite(**{name: getattr(ocp.args, how)()})
    with _quiet(), ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as reader:
        return reader.restore(path.absolute(), args=items)[name]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what orbax says of errors in pages of tracebacks: who catches them says it."""
    loggers = [logging.getLogger(name) for name in ("absl", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

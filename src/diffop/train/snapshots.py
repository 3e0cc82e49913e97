"""Single checkpoints on disk, written and read by orbax.

Orbax writes into a directory beside the checkpoint's. It does not see all damage that is done later
(its arrays have no checksums), and says what it sees in many lines; so digests of all files are
written after it. Then the directory is forced to the disk and renamed: a checkpoint is there as a
whole, with its digests, or not at all.

Arrays on several devices are written piece by piece, each by a process that has it, into a
directory that all processes see, and read as they are to lie then.
"""

import contextlib
import errno
import logging
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any, TypeAlias

import jax
import numpy as np

from .digests import write_digests
from .durable import commit, make_folder
from .leaves import is_spread
from .processes import by_first, is_first, succeeded_everywhere

_MARGIN = 2**20  # bytes for names, shapes and digests
_UNFINISHED = ".unfinished"
NOTES = "notes/"
"""Where notes are in a checkpoint."""


Arrays: TypeAlias = dict[str, list[Any]]
"""By name: arrays of numpy, and JAX's."""


def write(directory: pathlib.Path, step: int, arrays: Arrays, notes: dict[str, Any]) -> None:
    """Writes the checkpoint of a step, and removes what is left of those that were not finished.

    **Raises:** `OSError` or `ValueError` if it cannot be written, such as on a full disk, in any
    process. Nothing of it is left then, unless all of it is.
    """
    import orbax.checkpoint as ocp  # an extra: imported where it is used

    items = ocp.args.Composite(arrays=ocp.args.StandardSave(arrays), notes=ocp.args.JsonSave(notes))
    place = directory / str(step)
    started = directory / f"{step}{_UNFINISHED}"

    def save() -> None:
        # not by its asynchronous one: the arrays are donated to the next dispatch
        with _quiet(), ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as writer:
            writer.save(started.absolute(), args=items)

    def finish() -> None:
        write_digests(started)
        commit(started, place)

    size = sum(array.nbytes for each in arrays.values() for array in each)
    by_first(lambda: _prepare(place, size))
    try:
        succeeded_everywhere(save)
        by_first(finish)
    except BaseException:
        if is_first():
            for path in unfinished(directory):
                shutil.rmtree(path, ignore_errors=True)
        raise


def _prepare(place: pathlib.Path, size: int) -> None:
    """Orbax would notice that there is no room, too, but its threads would go on and print
    tracebacks.
    """
    if place.exists():
        raise FileExistsError(f"{place} exists")
    directory = place.parent
    make_folder(directory)
    for path in unfinished(directory):
        shutil.rmtree(path)
    if shutil.disk_usage(directory).free < size + _MARGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def unfinished(directory: pathlib.Path) -> list[pathlib.Path]:
    """What is left of checkpoints that were never finished."""
    names = (f"*{_UNFINISHED}", "*.orbax-checkpoint-tmp")
    return [path for name in names for path in directory.glob(name)]


def read_notes(path: pathlib.Path) -> dict[str, Any]:
    """The notes of a checkpoint."""
    import orbax.checkpoint as ocp

    return _read(path, "notes", ocp.args.JsonRestore())


def read_arrays(path: pathlib.Path, like: Arrays) -> Arrays:
    """The arrays of a checkpoint, each where the one in its place is."""
    import orbax.checkpoint as ocp

    def place(leaf: Any) -> ocp.RestoreArgs:
        if isinstance(leaf, jax.Array) and is_spread(leaf):
            return ocp.ArrayRestoreArgs(sharding=leaf.sharding)
        return ocp.RestoreArgs(restore_type=np.ndarray)

    return _read(path, "arrays", ocp.args.PyTreeRestore(restore_args=jax.tree.map(place, like)))


def _read(path: pathlib.Path, name: str, how: Any) -> Any:
    import orbax.checkpoint as ocp

    items = ocp.args.Composite(**{name: how})
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

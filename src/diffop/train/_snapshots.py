"""Single checkpoints on disk, written and read by orbax.

Orbax writes into a directory beside the checkpoint's and renames it at the end, so that a
checkpoint is there as a whole or not at all. It does not see all damage that is done later (its
arrays have no checksums), and says what it sees in many lines; so digests of all files are written
after it, and a checkpoint is one that has them.

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

from ._digests import write_digests
from ._leaves import is_spread
from ._processes import by_first, is_first, succeeded_everywhere

_MARGIN = 2**20  # bytes for names, shapes and digests


Arrays: TypeAlias = dict[str, list[Any]]
"""By name: arrays of numpy, and JAX's."""


def write(directory: pathlib.Path, step: int, arrays: Arrays, notes: dict[str, Any]) -> None:
    """Writes the checkpoint of a step, and removes what is left of those that were not finished.

    **Raises:** `OSError` or `ValueError` if it cannot be written, such as on a full disk, in any
    process. Nothing of it is left then.
    """
    import orbax.checkpoint as ocp  # an extra: imported where it is used

    items = ocp.args.Composite(arrays=ocp.args.StandardSave(arrays), notes=ocp.args.JsonSave(notes))
    options = ocp.CheckpointManagerOptions(
        cleanup_tmp_directories=True,
        # the arrays are donated to the next dispatch
        enable_async_checkpointing=False,
    )

    def save() -> None:
        with _quiet(), ocp.CheckpointManager(directory.absolute(), options=options) as manager:
            manager.save(step, args=items)

    size = sum(array.nbytes for each in arrays.values() for array in each)
    by_first(lambda: _prepare(directory, step, size))
    try:
        succeeded_everywhere(save)
        by_first(lambda: write_digests(directory / str(step)))
    except BaseException:
        if is_first():
            for path in (directory / str(step), *unfinished(directory)):
                shutil.rmtree(path, ignore_errors=True)
        raise


def _prepare(directory: pathlib.Path, step: int, size: int) -> None:
    """Orbax would notice that there is no room, too, but its threads would go on and print
    tracebacks.
    """
    if (directory / str(step)).exists():
        raise FileExistsError(f"{directory / str(step)} exists")
    directory.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(directory).free < size + _MARGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def unfinished(directory: pathlib.Path) -> list[pathlib.Path]:
    """What is left of checkpoints that were never finished."""
    return list(directory.glob("*.orbax-checkpoint-tmp"))


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

"""Checkpoints: numbered folders of arrays and notes, which are written and read by Orbax.

Arrays on several devices are written piece by piece, each by a process that has it, into a folder
that all processes see, and are read with their new layout.

This file holds what Orbax 0.12 leaves to its callers, with each of its handlers for arrays (one
file for all, or a folder for each):

- A write that fails, on a full disk for instance, raises `ValueError`, and prints a hundred lines:
  its threads tell the loggers of absl and of asyncio of the errors that it raises as well.
- It refuses empty arrays.
- It forces nothing to the disk, and leaves a temporary folder behind.
- It returns wrong numbers for one flipped bit: its arrays have no checksums.
"""

import contextlib
import errno
import logging
import os
import pathlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import Array

from ..parallel.processes import by_first, is_first, succeeded_everywhere
from .arrays import Leaf, is_spread
from .disk import DIGESTS, MARGIN, commit, make_folder, remove, room, write_digests
from .strict_json import spelt, unspelt

_UNFINISHED, _DAMAGED = ".unfinished", ".damaged"
_LEFT_BY_ORBAX = ".orbax-checkpoint-tmp"
NOTES = "notes/"
"""The folder of notes in a checkpoint."""

_MARKS = (DIGESTS, "_CHECKPOINT_METADATA", "arrays/_METADATA", f"{NOTES}metadata")
"""Files that every checkpoint has, by the names that Orbax and we give them."""

Arrays: TypeAlias = dict[str, list[Any]]
"""Arrays of NumPy and of JAX, by name."""


def steps(directory: pathlib.Path) -> tuple[int, ...]:
    """The steps that have a checkpoint, in order."""
    if not directory.is_dir():
        return ()
    found = [path for path in directory.iterdir() if _is_of_a_step(path, "")]
    return tuple(sorted(int(path.name) for path in found if _is_ours(path)))


def _is_of_a_step(path: pathlib.Path, end: str) -> bool:
    """Whether it is a folder whose name is a step's, as `str` writes it, and then some end."""
    step, has_end, _ = path.name.partition(end) if end else (path.name, end, "")
    number = int(step) if step.isascii() and step.isdecimal() else None
    return str(number) == step and has_end == end and path.is_dir()


def _is_ours(folder: pathlib.Path) -> bool:
    """Whether `write` has written it: it has two of the marks, since damage may have taken others
    and one may be there by chance. Other folders with numbers are their owner's.
    """
    return sum((folder / name).is_file() for name in _MARKS) > 1


def set_aside(place: pathlib.Path) -> pathlib.Path:
    """Renames a damaged checkpoint, so that it is none of `steps`, to a free name."""
    first = f"{place.name}{_DAMAGED}"
    names = (first, *(f"{first}-{number}" for number in range(2, 1000)))
    free = (place.with_name(name) for name in names if not place.with_name(name).exists())
    return place.rename(next(free))


def damaged(directory: pathlib.Path) -> list[pathlib.Path]:
    """The damaged checkpoints that were set aside."""
    paths = directory.glob(f"*{_DAMAGED}*")
    return [path for path in paths if _is_of_a_step(path, _DAMAGED) and _is_ours(path)]


def discard(checkpoint: pathlib.Path) -> None:
    """Removes a checkpoint; if it is a link, only the link. It is renamed first, so that a kill
    leaves the remains of an unfinished one.
    """
    name = checkpoint.name
    remove(checkpoint.rename(checkpoint.with_name(f"{name.split('.')[0]}{_UNFINISHED}.{name}")))


def clear(directory: pathlib.Path) -> None:
    """Removes all checkpoints, and the directory if it is then empty; if it is a link to a folder,
    only the link.
    """
    whole = [directory / str(step) for step in steps(directory)]
    for path in unfinished(directory):
        remove(path)
    for path in (*whole, *damaged(directory)):
        discard(path)
    empty = directory.is_dir() and not any(directory.iterdir())
    if empty and not directory.is_symlink():
        directory.rmdir()


def write(directory: pathlib.Path, step: int, arrays: Arrays, notes: dict[str, Any]) -> None:
    """Writes the checkpoint of a step, and removes the remains of unfinished ones.

    **Raises:** `OSError` in every process if it cannot be written, such as on a full disk. Then
    nothing of it remains, unless all of it was written.
    """
    place = directory / str(step)
    started = directory / f"{step}{_UNFINISHED}"

    def finish() -> None:
        write_digests(started)
        commit(started, place)

    size = sum(array.nbytes for each in arrays.values() for array in each)
    by_first(lambda: _prepare(place, size))
    try:
        succeeded_everywhere(lambda: save(started, arrays, notes))
        by_first(finish)
    except BaseException:
        if is_first():
            _remove_unfinished(directory)
        raise


def _prepare(place: pathlib.Path, size: int) -> None:
    """Makes a place with enough room: Orbax would notice a full disk late."""
    if place.exists():
        raise FileExistsError(f"{place} exists")
    directory = place.parent
    make_folder(directory)
    _remove_unfinished(directory)
    if room(directory) < size + MARGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def _remove_unfinished(directory: pathlib.Path) -> None:
    """Removes what can be removed; a file that is open elsewhere may have to wait."""
    for path in unfinished(directory):
        with contextlib.suppress(OSError):
            remove(path)


def unfinished(directory: pathlib.Path) -> list[pathlib.Path]:
    """The remains of checkpoints that were never finished."""
    ends = (_UNFINISHED, _LEFT_BY_ORBAX)
    return [path for path in directory.glob("*") if any(_is_of_a_step(path, end) for end in ends)]


def save(folder: pathlib.Path, arrays: Arrays, notes: dict[str, Any]) -> None:
    """Writes a new folder.

    **Raises:** `OSError` if it cannot be written.
    """
    import orbax.checkpoint as ocp  # an extra: imported where it is used

    given = {name: list(map(_writable, each)) for name, each in arrays.items()}
    items = ocp.args.Composite(
        arrays=ocp.args.StandardSave(given), notes=ocp.args.JsonSave(spelt(notes))
    )
    try:
        # not by its asynchronous writer: the arrays are donated to the next dispatch
        with _quiet(), ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as writer:
            writer.save(folder.absolute(), args=items)
    except (ValueError, RuntimeError) as error:
        raise OSError(str(error)) from error


def read_notes(folder: pathlib.Path) -> dict[str, Any]:
    """The notes in a folder."""
    import orbax.checkpoint as ocp

    return unspelt(_read(folder, "notes", ocp.args.JsonRestore()))


def read_arrays(folder: pathlib.Path, like: Arrays) -> Arrays:
    """The arrays in a folder, each where the corresponding array of `like` lies."""
    import orbax.checkpoint as ocp

    def place(leaf: Any) -> ocp.RestoreArgs:
        if leaf.size and is_spread(leaf):  # an empty array is a zero in the folder
            return ocp.ArrayRestoreArgs(sharding=leaf.sharding)
        return ocp.RestoreArgs(restore_type=np.ndarray)

    return _read(folder, "arrays", ocp.args.PyTreeRestore(restore_args=jax.tree.map(place, like)))


def _read(folder: pathlib.Path, name: str, how: Any) -> Any:
    import orbax.checkpoint as ocp

    items = ocp.args.Composite(**{name: how})
    with _quiet(), ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as reader:
        return reader.restore(folder.absolute(), args=items)[name]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("absl", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _writable(array: Leaf) -> np.ndarray | Array:
    """An array of NumPy, unless it lies on several devices; a zero in place of an empty one."""
    if not array.size:
        return np.zeros(1, array.dtype)
    return array if is_spread(array) else np.asarray(array)

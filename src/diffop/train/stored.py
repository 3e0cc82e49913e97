"""Arrays and notes in a folder, written and read by Orbax.

This file holds what Orbax 0.12 leaves to its callers, with each of its handlers for arrays (one
file for all, or a folder for each):

- A write that fails, on a full disk for instance, raises `ValueError`, and prints a hundred lines:
  its threads tell the loggers of absl and of asyncio of the errors that it raises as well.
- It refuses empty arrays.

It also returns wrong numbers for one flipped bit, and leaves its temporary folder behind: `disk`
keeps digests and removes such folders.
"""

import contextlib
import logging
import pathlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import Array

from .strict_json import spelt, unspelt

NOTES = "notes/"
"""The folder of notes in a checkpoint."""

LEFT = "*.orbax-checkpoint-tmp"
"""How folders are called that a write has not finished."""

Arrays: TypeAlias = dict[str, list[Any]]
"""Arrays of NumPy and of JAX, by name."""


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
        if is_spread(leaf):
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


def is_spread(leaf: np.ndarray | Array) -> bool:
    """Whether an array lies on several devices."""
    return isinstance(leaf, jax.Array) and len(leaf.sharding.device_set) > 1


def _writable(array: np.ndarray | Array) -> np.ndarray | Array:
    """An array of NumPy, unless it lies on several devices; a zero in place of an empty one."""
    if not array.size:
        return np.zeros(1, array.dtype)
    return array if is_spread(array) else np.asarray(array)

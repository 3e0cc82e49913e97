"""Files and folders that are there as a whole or not at all, also after a power cut.

What is new is written beside its place and forced to the disk; then it is renamed, which file
systems do in one step; then the folder, which holds the names, is forced to the disk.
"""

import contextlib
import errno
import os
import pathlib
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[BinaryIO]:
    """A file to write into, which takes the place of `path` when it is left; what was there stays
    if writing fails.
    """
    unfinished = path.with_name(f"{path.name}.tmp")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync(path.parent)


def commit(folder: pathlib.Path, place: pathlib.Path) -> None:
    """Renames a folder to a place where there is none, when all that is in it is on the disk."""
    for path in (*folder.rglob("*"), folder):
        sync(path)
    os.replace(folder, place)
    sync(place.parent)


def make_folder(path: pathlib.Path) -> None:
    """Makes a folder, and those above it, unless they exist."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def sync(path: pathlib.Path) -> None:
    """Forces to the disk what a file holds, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # so say file systems, most over a network, that keep no names back
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(descriptor)

"""Files and folders that are on the disk as a whole or not at all, also after a power cut.

New data are written beside their place and forced to the disk. Then they are renamed, which file
systems do in one step. Then the folder, which holds the names, is forced to the disk. Digests of
its files, as `sha256sum` writes and checks them, tell later damage.
"""

import contextlib
import errno
import hashlib
import os
import pathlib
import shutil
from collections.abc import Iterator
from typing import BinaryIO

MARGIN = 2**20  # bytes for names, shapes, digests and reports
DIGESTS = "SHA256SUMS"
"""The file of a folder that is written last."""


@contextlib.contextmanager
def replacing(path: pathlib.Path) -> Iterator[BinaryIO]:
    """A file to write into, which replaces `path` at the end of the context; the old file stays if
    writing fails.
    """
    unfinished = path.with_name(f"{path.name}.tmp")
    try:
        with unfinished.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sign(file: BinaryIO) -> None:
    """Appends the digest of a file's contents; readers of arrays stop before it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    signature = _signature(file, size)
    file.seek(size)
    file.write(signature)


def is_as_signed(file: BinaryIO) -> bool:
    """Whether a file that was read up to its signature is unchanged since it was signed. Old files
    without a signature, which end there, pass.
    """
    size, signature = file.tell(), file.read()
    file.seek(0)
    return not signature or signature == _signature(file, size)


def _signature(file: BinaryIO, size: int) -> bytes:
    found = hashlib.sha256()
    for start in range(0, size, MARGIN):
        found.update(file.read(min(MARGIN, size - start)))
    return f"\nsha256 {found.hexdigest()}".encode()


def remove(path: pathlib.Path) -> None:
    """Removes a folder and its contents; if it is a link, only the link."""
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path)


def commit(folder: pathlib.Path, place: pathlib.Path) -> None:
    """Renames a folder to a free place after all of its contents are on the disk."""
    for path in (*folder.rglob("*"), folder):
        sync(path)
    os.replace(folder, place)
    sync(place.parent)


def make_folder(path: pathlib.Path) -> None:
    """Makes a folder, and those above it, unless they exist."""
    if not path.is_dir():
        if path.exists():
            raise NotADirectoryError(f"{path} is a file; name a directory that is under no file.")
        if path.is_symlink():
            raise NotADirectoryError(
                f"{path} is a link to {path.readlink()}, which does not exist; name a directory."
            )
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def sync(path: pathlib.Path) -> None:
    """Forces the contents of a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # file systems, mostly over a network, that do not cache names raise this
        if error.errno != errno.EINVAL or not path.is_dir():
            raise
    finally:
        os.close(descriptor)


def write_digests(directory: pathlib.Path) -> None:
    """Writes a last file into a directory: the digests of all its files."""
    names = sorted(path for path in directory.rglob("*") if path.is_file())
    lines = [f"{_digest(path)}  {path.relative_to(directory).as_posix()}\n" for path in names]
    (directory / DIGESTS).write_text("".join(lines))


def damage(directory: pathlib.Path, below: str = "") -> str | None:
    """The damage to the files of a directory, or to those in one of its folders (`below`, which
    ends with a slash), in words; None if all are as they were written.
    """
    try:
        lines = (directory / DIGESTS).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    if not lines:
        return f"it has no {DIGESTS}, so it was not written to its end"
    for line in lines:
        expected, _, name = line.partition("  ")
        if not name.startswith(below):
            continue
        try:
            found = _digest(directory / name)
        except OSError:
            return f"its file {name} cannot be read"
        if found != expected:
            return f"its file {name} has changed since it was written"
    return None


def _digest(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def room(folder: pathlib.Path) -> int:
    """How many bytes can be written into a folder, which need not exist yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    return shutil.disk_usage(there).free

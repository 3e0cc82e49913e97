"""Digests of the files of a directory, as `sha256sum` writes and checks them."""

import hashlib
import pathlib

_NAME = "SHA256SUMS"


def write_digests(directory: pathlib.Path) -> None:
    """Writes the digests of all files in the directory beside them: its last file."""
    names = sorted(path for path in directory.rglob("*") if path.is_file())
    lines = [f"{_digest(path)}  {path.relative_to(directory).as_posix()}\n" for path in names]
    (directory / _NAME).write_text("".join(lines))


def damage(directory: pathlib.Path, below: str = "") -> str | None:
    """What is wrong with the files of a directory, or with those in one of its folders (`below`,
    which ends with a slash): None if all are as they were written.
    """
    try:
        lines = (directory / _NAME).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    if not lines:
        return f"it has no {_NAME}, so it was not written to its end"
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

"""Files, folders and checkpoints that are on the disk as a whole or not at all, also after a power
cut.

New data are written beside their place and forced to the disk. Then they are renamed, which file
systems do in one step. Then the folder, which holds the names, is forced to the disk.

Orbax (`stored`) forces nothing to the disk, and does not see all later damage: its arrays have no
checksums. So digests of all files, as `sha256sum` writes and checks them, are written before the
folder is renamed. Arrays on several devices are written piece by piece, each by a process that has
it, into a folder that all processes see, and are read with their new layout.
"""

import contextlib
import errno
import hashlib
import importlib.metadata
import os
import pathlib
import platform
import shutil
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..parallel.processes import by_first, is_first, succeeded_everywhere
from .stored import LEFT, Arrays, save

MARGIN = 2**20  # bytes for names, shapes, digests and reports
_DIGESTS = "SHA256SUMS"
_UNFINISHED = ".unfinished"
_PACKAGES = ("diffop-jax", "jax", "jaxlib", "equinox", "optax")


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
    (directory / _DIGESTS).write_text("".join(lines))


def damage(directory: pathlib.Path, below: str = "") -> str | None:
    """The damage to the files of a directory, or to those in one of its folders (`below`, which
    ends with a slash), in words; None if all are as they were written.
    """
    try:
        lines = (directory / _DIGESTS).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    if not lines:
        return f"it has no {_DIGESTS}, so it was not written to its end"
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
            for path in unfinished(directory):
                shutil.rmtree(path, ignore_errors=True)
        raise


def room(folder: pathlib.Path) -> int:
    """How many bytes can be written into a folder, which need not exist yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    return shutil.disk_usage(there).free


def _prepare(place: pathlib.Path, size: int) -> None:
    """Makes a place with enough room: Orbax would notice a full disk late."""
    if place.exists():
        raise FileExistsError(f"{place} exists")
    directory = place.parent
    make_folder(directory)
    for path in unfinished(directory):
        remove(path)
    if room(directory) < size + MARGIN:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def unfinished(directory: pathlib.Path) -> list[pathlib.Path]:
    """The remains of checkpoints that were never finished."""
    names = (f"*{_UNFINISHED}", LEFT)
    return [path for name in names for path in directory.glob(name)]


def numbers(tree: PyTree) -> list[Array]:
    """The arrays of a pytree, in order, with the numbers behind random keys."""
    return [_numbers(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def described(tree: PyTree) -> dict[str, str]:
    """Type and shape of each array of `numbers`, by its place in the pytree."""
    paths = jax.tree_util.tree_leaves_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): _describe(_numbers(leaf)) for path, leaf in paths}


def filled(like: PyTree, values: Sequence[np.ndarray | Array]) -> PyTree:
    """`like` with its arrays replaced by those of `numbers` for an equal tree."""
    arrays, rest = eqx.partition(like, eqx.is_array)
    leaves, structure = jax.tree.flatten(arrays)
    new = [_as(leaf, value) for leaf, value in zip(leaves, values, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, new), rest)


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _numbers(leaf: Array) -> Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _as(leaf: Array, value: np.ndarray | Array) -> Array:
    if _is_key(leaf):
        return jax.random.wrap_key_data(jnp.asarray(value), impl=jax.random.key_impl(leaf))
    return jnp.asarray(value) if leaf.size else leaf  # an empty array was written as a zero


def _describe(leaf: Array) -> str:
    return f"{leaf.dtype.name}[{','.join(map(str, leaf.shape))}]"


def environment() -> dict[str, str]:
    """The versions of Python and of the packages that affect results, and the kind of device."""
    return {
        **{name: _version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
    }


def changes(before: dict[str, str]) -> str:
    """The differences between this environment and another in words; empty without any."""
    now = environment()
    names = [name for name in now if now[name] != before.get(name)]
    return ", ".join(f"{name} {before.get(name)} before, {now[name]} now" for name in names)


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # run from a source tree, not installed
        return "not installed"

"""What oracles say, kept in `tests/kept/`, a file for each file of tests.

Differentiating again and again takes longer than what it is compared with, and does not depend on
diffop. `make test` reads the values, and `make oracles` writes them. Beside each value stands what
it was computed from (`sources`). Where that has changed since, `make test-rest` computes the value
once more and compares.
"""

import ast
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import compiling

ROOT = Path(__file__).parent
_FROM = "computed_from"
_IS_LATER = jax.__version_info__ >= (0, 11)
"""Whether JAX has functions of which the values were not written: those that JAX 0.10 lacks."""
_WORD = "is not in tests/kept as it is now; if its function has changed, `make oracles` writes it."


class Kept:
    """The values of one file of tests, by the names of the tests that ask for them."""

    def __init__(self, tests: Path, mode: str) -> None:
        name = ".".join(tests.relative_to(ROOT).with_suffix(".npz").parts)
        self._path, self._mode = ROOT / "kept" / name, mode
        self._values: dict[str, Any] = {}
        self._from: dict[str, str] = {}
        self._now = "" if mode in ("read", "compute") else sources(tests)
        if self._path.exists():
            self._values, self._from = _read(self._path)

    def value(self, name: str, compute) -> Any:
        """What `compute()` returns: arrays, in lists and dictionaries."""
        known = self._mode == "check" and self._from.get(name) == self._now
        if known or self._mode == "read":
            if name in self._values:
                return self._values[name]
            if not _IS_LATER:
                raise KeyError(f"{name} {_WORD}")
        with compiling.quickly():  # nothing is said of diffop by how these are compiled
            computed = _listed(compute())
        if self._mode == "write":
            self._keep(name, computed)
        elif self._mode == "check":
            compare(computed, self._values.get(name), name)
        return computed

    def _keep(self, name: str, computed: Any) -> None:
        """What agrees with the value that is there stays as it is, to the last bit."""
        self._from[name] = self._now
        try:
            compare(computed, self._values.get(name), name)
        except AssertionError:
            self._values[name] = computed

    def write(self) -> None:
        if self._mode == "write" and self._values:
            self._path.parent.mkdir(exist_ok=True)
            _write(self._path, self._values, self._from)


def sources(tests: Path) -> str:
    """A digest of what the values of a file of tests are computed from: of that file, of those that
    it imports from here, and of the version of JAX.
    """
    found, left = {tests}, [tests]
    while left:
        new = set(_imported(left.pop())) - found
        found |= new
        left += new
    digest = hashlib.sha256(jax.__version__.encode())
    for path in sorted(found):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _imported(path: Path) -> Iterator[Path]:
    """Files of this directory that one of them imports: `from ..functions import DTYPES`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            module = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            names = [
                module.with_suffix(".py"),
                *(module / f"{each.name}.py" for each in node.names),
            ]
            yield from (name for name in names if name.is_file())


def _listed(tree: Any) -> Any:
    """Arrays in lists and dictionaries, which is what a file can say."""
    if isinstance(tree, dict):
        return {name: _listed(tree[name]) for name in sorted(tree)}
    if isinstance(tree, list | tuple):
        return [_listed(each) for each in tree]
    return np.asarray(tree)


def compare(computed: Any, kept: Any, name: str) -> None:
    """The same to rounding, which on another machine, or under another JAX, is another."""
    assert jax.tree.structure(computed) == jax.tree.structure(kept), f"{name} {_WORD}"
    for a, b in zip(jax.tree.leaves(computed), jax.tree.leaves(kept), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{name} {_WORD}"
        if jnp.issubdtype(a.dtype, jnp.inexact):
            tolerance = max(1e-9, 50 * float(jnp.finfo(a.dtype).eps))
            a, b = a.astype(np.complex128), b.astype(np.complex128)
            tolerance *= np.abs(b).max(where=np.isfinite(b), initial=1.0)
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance, err_msg=f"{name} {_WORD}")
        else:
            np.testing.assert_array_equal(a, b, err_msg=f"{name} {_WORD}")


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The values, and what each was computed from."""
    with np.load(path) as file:
        numbers, outline = file["numbers"], str(file["outline"])
        known = json.loads(str(file[_FROM])) if _FROM in file else {}
    start = 0

    def arrays(node: dict[str, Any]) -> Any:
        nonlocal start
        if node.keys() != {"dtype", "shape"}:
            return node
        dtype, shape = jnp.dtype(node["dtype"]), tuple(node["shape"])
        parts = 2 if jnp.issubdtype(dtype, jnp.complexfloating) else 1
        count = parts * int(np.prod(shape, dtype=int))
        flat = numbers[start : start + count]
        start += count
        flat = flat.view(np.complex128) if parts == 2 else flat
        return flat.reshape(shape).astype(dtype)

    return json.loads(outline, object_hook=arrays), known


def _write(path: Path, values: dict[str, Any], known: dict[str, str]) -> None:
    def outline(array: np.ndarray) -> dict[str, Any]:
        return {"dtype": str(array.dtype), "shape": array.shape}

    def flat(array: np.ndarray) -> np.ndarray:
        double = np.complex128 if np.iscomplexobj(array) else np.float64
        return array.astype(double).reshape(-1).view(np.float64)

    values = {name: values[name] for name in sorted(values)}
    text = json.dumps(jax.tree.map(outline, values))
    numbers = np.concatenate([flat(leaf) for leaf in jax.tree.leaves(values)])
    more = {_FROM: np.asarray(json.dumps(known, sort_keys=True))}
    np.savez_compressed(path, numbers=numbers, outline=np.asarray(text), **more)

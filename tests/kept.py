"""What oracles say, kept in `tests/kept/`, a file for each file of tests.

Differentiating again and again takes longer than what it is compared with, and does not depend on
diffop. `make test` reads the values, `make test-rest` computes them once more and compares, and
`make oracles` writes them.
"""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import compiling

ROOT = Path(__file__).parent
_WORD = "is not in tests/kept as it is now; if its function has changed, `make oracles` writes it."


class Kept:
    """The values of one file of tests, by the names of the tests that ask for them."""

    def __init__(self, tests: Path, mode: str) -> None:
        name = ".".join(tests.relative_to(ROOT).with_suffix(".npz").parts)
        self._path, self._mode = ROOT / "kept" / name, mode
        self._values: dict[str, Any] = {}
        if self._path.exists():
            self._values = _read(self._path)

    def value(self, name: str, compute) -> Any:
        """What `compute()` returns: arrays, in lists and dictionaries."""
        if self._mode == "read":
            if name not in self._values:
                raise KeyError(f"{name} {_WORD}")
            return self._values[name]
        with compiling.quickly():  # nothing is said of diffop by how these are compiled
            computed = _listed(compute())
        if self._mode == "write":
            self._values[name] = computed
        elif self._mode == "check":
            compare(computed, self._values.get(name), name)
        return computed

    def write(self) -> None:
        if self._mode == "write" and self._values:
            self._path.parent.mkdir(exist_ok=True)
            _write(self._path, self._values)


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


def _read(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        numbers, outline = file["numbers"], str(file["outline"])
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

    return json.loads(outline, object_hook=arrays)


def _write(path: Path, values: dict[str, Any]) -> None:
    def outline(array: np.ndarray) -> dict[str, Any]:
        return {"dtype": str(array.dtype), "shape": array.shape}

    def flat(array: np.ndarray) -> np.ndarray:
        double = np.complex128 if np.iscomplexobj(array) else np.float64
        return array.astype(double).reshape(-1).view(np.float64)

    values = {name: values[name] for name in sorted(values)}
    text = json.dumps(jax.tree.map(outline, values))
    numbers = np.concatenate([flat(leaf) for leaf in jax.tree.leaves(values)])
    np.savez_compressed(path, numbers=numbers, outline=np.asarray(text))

"""How exact derivatives of high order are in float32.

    python -m benchmarks.precision

The base network at normal points. The error of a derivative is the largest over the points, in
units of the derivative's root mean square; the truth is nested `jax.jacfwd` of the same network in
float64. In float32 that nesting has errors too: they are what the rounding of u alone costs.
"""

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .command import POINTS
from .equations import EQUATIONS
from .high_order import with_diffop
from .peers import Method
from .subjects import mlp, normal_points
from .table import print_table

# The largest error to allow, by the order of the derivative.
GOALS = {4: 1e-5, 6: 1e-4}

_HEADER = ("of", "derivative", "order", "diffop", "nested jacfwd", "reach", "reached?")


class Error(NamedTuple):
    """The errors of one derivative, of diffop and of nested differentiation in float32."""

    case: str
    word: str
    ours: float
    nested: float

    @property
    def goal(self) -> float | None:
        return GOALS.get(len(self.word))


def measure(case: str, coordinates: str, words: Sequence[str], points: int) -> list[Error]:
    u, x = mlp(len(coordinates)), normal_points(points, len(coordinates))
    ours = _values(with_diffop(coordinates, words), u, x)
    nested = _values(_nested_jacfwd(coordinates, words), u, x)
    with jax.enable_x64(True):
        exact = _values(_nested_jacfwd(coordinates, words), *_in_float64((u, x)))

    def error(values: Any, word: str) -> float:
        largest = np.max(np.abs(values[word] - exact[word]))
        return float(largest / np.sqrt(np.mean(exact[word] ** 2)))

    return [Error(case, word, error(ours, word), error(nested, word)) for word in words]


def mixed(coordinates: str, order: int) -> list[str]:
    """All words of this order, up to permutation, that have more than one letter."""
    words = itertools.combinations_with_replacement(coordinates, order)
    return ["".join(word) for word in words if len(set(word)) > 1]


def _cases() -> Iterator[tuple[str, str, Sequence[str]]]:
    for equation in EQUATIONS:
        yield equation.name, equation.coordinates, equation.words
    for coordinates, order in itertools.product(("xy", "xyz"), (4, 6)):
        yield f"{len(coordinates)} variables", coordinates, mixed(coordinates, order)


def _nested_jacfwd(coordinates: str, words: Iterable[str]) -> Method:
    """The words as entries of the full tensors of derivatives."""

    def transform(u: Any) -> Any:
        tensors = {0: u}
        for order in range(1, max(map(len, words)) + 1):
            tensors[order] = jax.jacfwd(tensors[order - 1])

        def values(x: jax.Array) -> dict[str, jax.Array]:
            found = {order: tensors[order](x) for order in set(map(len, words))}
            return {w: found[len(w)][tuple(map(coordinates.index, w))] for w in words}

        return values

    return transform


def _values(method: Method, u: Any, points: jax.Array) -> dict[str, np.ndarray]:
    # A few points at a time: the tensor of order 6 in three variables has 729 entries.
    run = eqx.filter_jit(lambda u, x: jax.lax.map(method(u), x, batch_size=10))
    return jax.tree.map(lambda a: np.asarray(a, np.float64), run(u, points))


def _in_float64(tree: Any) -> Any:
    return jax.tree.map(lambda a: a.astype(jnp.float64) if eqx.is_array(a) else a, tree)


def _cells(error: Error) -> list[str]:
    reach, reached = "", ""
    if error.goal is not None:
        reach, reached = f"≤ {error.goal:.0e}", "yes" if error.ours <= error.goal else "no"
    name = f"u_{error.word}" if error.word else "u"
    order = str(len(error.word))
    return [error.case, name, order, f"{error.ours:.1e}", f"{error.nested:.1e}", reach, reached]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=POINTS)
    options = parser.parse_args()
    errors = [error for case in _cases() for error in measure(*case, options.points)]
    print_table(_HEADER, map(_cells, errors))


if __name__ == "__main__":
    main()

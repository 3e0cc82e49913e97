"""How exact derivatives of high order are in float32.

The base network at normal points. The error of a derivative is the largest over the points, in
units of the derivative's root mean square; the truth is nested `jax.jacfwd` of the same network in
float64. In float32 that nesting has errors too: they are what the rounding of u alone costs.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..harness.case import Case, Scope
from ..harness.records import Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table
from ..subjects.equations import BY_NAME, EQUATIONS
from ..subjects.methods import Method
from ..subjects.networks import mlp, normal_points
from ..subjects.words import with_diffop

GOALS = {4: 1e-5, 6: 1e-4}
"""The largest error to allow, by the order of the derivative."""

NESTED = "nested jacfwd"


class Precision(AbstractSuite):
    name = "precision"
    title = "derivatives of high order in float32, beside float64"
    timed = False

    def cases(self, scope: Scope) -> Iterator[Case]:
        points = scope.pick([2], [10], [100])[0]
        mixed = [("2 variables", 4), ("3 variables", 4), ("2 variables", 6), ("3 variables", 6)]
        wanted = [(equation.name, 0) for equation in EQUATIONS] + mixed
        for of, order in scope.pick([("2 variables", 4)], wanted, wanted):
            yield self.case("diffop", of=of, order=order, points=points)

    def measure(self, case: Case, runs: Path) -> Values:
        """The largest errors of each order, and of the nesting in float32."""
        coordinates, words = _words(case)
        found = _errors(coordinates, words, case.whole("points"))
        values: Values = {}
        for word, errors in found.items():
            name = f"order {len(word)}"
            for key, error in zip((name, f"{name}, {NESTED}"), errors, strict=True):
                values[key] = max(values.get(key, 0.0), error)
        return values

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        lines = []
        for order in range(1, 7):
            name = f"order {order}"
            found = [record.values for record in ours.good if name in record.values]
            if found:
                worst = [max(each[key] for each in found) for key in (name, f"{name}, {NESTED}")]
                goal = GOALS.get(order)
                reach = "" if goal is None else f"≤ {goal:.0e}"
                lines.append([str(order), *(f"{error:.1e}" for error in worst), reach])
        header = ["order", "worst error, diffop", f"worst error, {NESTED}", "to reach"]
        yield Table("worst", header, lines)


def _words(case: Case) -> tuple[str, list[str]]:
    if case.whole("order") == 0:
        equation = BY_NAME[str(case.sizes["of"])]
        return equation.coordinates, list(equation.words)
    coordinates = "xyz"[: int(str(case.sizes["of"])[0])]
    return coordinates, mixed(coordinates, case.whole("order"))


def _errors(coordinates: str, words: list[str], points: int) -> dict[str, tuple[float, float]]:
    """For each word diffop's error and that of the nesting in float32."""
    u, x = mlp(len(coordinates)), normal_points(points, len(coordinates))
    ours = _values(with_diffop(coordinates, words), u, x)
    nested = _values(_nested_jacfwd(coordinates, words), u, x)
    with jax.enable_x64(True):
        exact = _values(_nested_jacfwd(coordinates, words), *_in_float64((u, x)))

    def error(values: Any, word: str) -> float:
        largest = np.max(np.abs(values[word] - exact[word]))
        return float(largest / np.sqrt(np.mean(exact[word] ** 2)))

    return {word: (error(ours, word), error(nested, word)) for word in words}


def mixed(coordinates: str, order: int) -> list[str]:
    """All words of this order, up to permutation, that have more than one letter."""
    words = itertools.combinations_with_replacement(coordinates, order)
    return ["".join(word) for word in words if len(set(word)) > 1]


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

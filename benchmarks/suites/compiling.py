"""How long programs take to trace and to compile.

A tanh network of width 64 in ten dimensions. Derivatives along one vector by a jet and by nested
`jax.jvp`, and Δ and Δ² by diffop and by nested `jax.hessian`, in turns, with JAX's caches cleared
before each.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import diffop as do

from ..harness.case import Case, Scope
from ..harness.records import Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table
from ..subjects.networks import Network, mlp

DIM, WIDTH = 10, 64
TURNS = 3
GOAL = 2.0
"""The most that tracing and compiling may take, in those of nested differentiation."""


class Compiling(AbstractSuite):
    name = "compiling"
    title = "tracing and compiling, beside nested differentiation"

    def cases(self, scope: Scope) -> Iterator[Case]:
        for of in scope.pick(["order 2"], list(DERIVATIVES), list(DERIVATIVES)):
            for layers in scope.pick([2], [20], [5, 20]):
                yield self.case("diffop", of=of, layers=layers)

    def measure(self, case: Case, runs: Path) -> Values:
        """Medians in seconds."""
        u = mlp(DIM, Network(case.whole("layers"), WIDTH))
        pair = DERIVATIVES[str(case.sizes["of"])]
        found: dict[str, list[float]] = {}
        for _ in range(TURNS):
            for name, derivative in zip(("", "nested "), pair, strict=True):
                for part, seconds in zip(PARTS, _seconds(derivative(u)), strict=True):
                    found.setdefault(name + part, []).append(seconds)
        return {name: statistics.median(seconds) for name, seconds in found.items()}

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        lines = []
        for record in ours.good:
            v = record.values
            ratios = [v[part] / v[f"nested {part}"] for part in PARTS]
            lines.append(
                [
                    str(record.case.sizes["of"]),
                    str(record.case.sizes["layers"]),
                    *(f"{v[part]:.2f} s" for part in PARTS),
                    *(f"{ratio:.2f}" for ratio in ratios),
                    f"≤ {GOAL:.0f}",
                ]
            )
        beside = [f"{part} / nested" for part in PARTS]
        yield Table("ratios", ["derivative", "layers", *PARTS, *beside, "to reach"], lines)


PARTS = ("trace", "compile")


def _seconds(function: Callable) -> tuple[float, float]:
    jax.clear_caches()
    began = time.perf_counter()
    traced = jax.jit(function).trace(jnp.ones(DIM))
    between = time.perf_counter()
    traced.lower().compile()
    return between - began, time.perf_counter() - between


def _jet(order: int) -> Callable:
    def derivative(u: Callable) -> Callable:
        def top(x: Any) -> Any:
            series = [jnp.ones_like(x), *[jnp.zeros_like(x)] * (order - 1)]
            return do.taylor.jet(u, (x,), (series,))[1][-1]

        return top

    return derivative


def _nested_jvp(order: int) -> Callable:
    def slope(u: Callable) -> Callable:
        return lambda x: jax.jvp(u, (x,), (jnp.ones_like(x),))[1]

    def derivative(u: Callable) -> Callable:
        for _ in range(order):
            u = slope(u)
        return u

    return derivative


def _trace_of_hessian(u: Callable) -> Callable:
    return lambda x: jnp.trace(jax.hessian(u)(x))


DERIVATIVES: dict[str, tuple[Callable, Callable]] = {
    "order 2": (_jet(2), _nested_jvp(2)),
    "order 4": (_jet(4), _nested_jvp(4)),
    "Δ": (do.Laplacian().exact, _trace_of_hessian),
    "Δ²": (do.Biharmonic().exact, lambda u: _trace_of_hessian(_trace_of_hessian(u))),
}
"""By diffop, and by nested differentiation."""

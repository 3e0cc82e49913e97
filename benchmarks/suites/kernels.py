"""What each kernel is worth: the rows that it serves, with it and with its plain meaning."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do
from diffop.least_squares.kernel import times_transpose

from ..harness.case import Case, Scope
from ..harness.program import Program, Runnable
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed
from ..harness.table import Table, duration, listing, megabytes
from ..subjects import attention
from ..subjects.agreement import PARTS
from ..subjects.networks import BASE, Network, ball_points, mlp, normal_points
from ..subjects.steps import JETS, OURS, POINTS, training

PLAIN = "plain"
STEP = "step"


class Row(NamedTuple):
    """A program by part, and the calls whose kernels serve it."""

    kernels: tuple[str, ...]
    parts: tuple[str, ...]
    program: Callable[[str], Runnable]


class Kernels(AbstractTimed):
    name = "kernels"
    title = "what each kernel is worth: rows with it, and with its plain meaning"
    budget = 8.0

    def cases(self, scope: Scope) -> Iterator[Case]:
        rows = scope.pick([_MINI], [_ROWS], [_ROWS])[0]
        for name, row in rows.items():
            for part in row.parts:
                for method in (OURS, PLAIN):
                    yield self.case(method, row=name, part=part)

    def program(self, case: Case) -> Runnable:
        row, part = _row(case), str(case.sizes["part"])
        if case.method == OURS:
            return row.program(part)
        with do.kernels.plain(*row.kernels):
            return row.program(part)

    def beside(self, case: Case) -> Case | None:
        return None if case.method == OURS else case._replace(method=OURS)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        def plain(record: Record) -> Record | None:
            return ours.one(PLAIN, **record.case.sizes)

        def ratio(record: Record) -> str:
            other = plain(record)
            return "" if other is None else other.text("ratio", ".2f")

        def memory(record: Record) -> str:
            other = plain(record)
            return "" if other is None else megabytes(other, "temporary_mb")

        columns = {
            "kernel": lambda record: ", ".join(_row(record.case).kernels),
            "row": lambda record: f"`{record.case.sizes['row']}`",
            "part": lambda record: str(record.case.sizes["part"]),
            "time": duration,
            "without, times": ratio,
            "temporary": lambda record: megabytes(record, "temporary_mb"),
            "without": memory,
        }
        yield listing("all", ours.where(OURS), columns)


def _row(case: Case) -> Row:
    return (_MINI | _ROWS)[str(case.sizes["row"])]


def _exact(dim: int, network: Network = BASE, points: int = POINTS) -> Callable[[str], Program]:
    def program(part: str) -> Program:
        u = do.nn.ZeroOnUnitSphere(mlp(dim, network))
        return Program(PARTS[part], do.Laplacian().exact, u, ball_points(points, dim))

    return program


def _of_layers(dim: int, width: int) -> Callable[[str], Program]:
    def program(part: str) -> Program:
        u, points = mlp(dim, Network(3, width)), normal_points(1000, dim)
        return Program(PARTS[part], do.Laplacian().exact, u, points)

    return program


def _drawn(order: int) -> Callable[[str], Program]:
    def program(part: str) -> Program:
        method = do.DiagonalK(order).estimate(jax.random.key(2), JETS)
        u = do.nn.ZeroOnUnitSphere(mlp(1000))
        return Program(PARTS[part], method, u, ball_points(POINTS, 1000))

    return program


def _one_walker(part: str) -> Program:
    energy = attention.WAYS[OURS]
    return Program(PARTS[part], energy, attention.parameters(30), attention.walkers(1, 30))


def _kernel_matrix(rows: int, columns: int) -> Callable[[str], Program]:
    """What a step of a Gauss-Newton method has to invert."""

    def program(part: str) -> Program:
        return Program(times_transpose, jax.random.normal(jax.random.key(0), (rows, columns)))

    return program


def _all_directions(part: str) -> Program:
    """As many directions as coordinates, of a function without layers."""

    @eqx.filter_jit
    def value(x: jax.Array) -> jax.Array:
        return do.Laplacian().exact(lambda x: jnp.prod(jnp.cos(jnp.cumsum(x) / x.size)))(x)

    return Program(value, jnp.linspace(0.0, 1.0, 8000))


def _step(part: str) -> Any:
    return training(OURS, "allen-cahn-two-body", 100_000)


_HALVES = ("quadratic form", "part of a quadratic form", "scaled rows")
_BOTH = tuple(PARTS)
_ROWS = {
    "Σ∂⁴, d = 1,000, 16 draws": Row(("rows",), _BOTH, _drawn(4)),
    "Δ, d = 3, width 32, 1,000 points": Row(("weighted rows",), _BOTH, _of_layers(3, 32)),
    "Δ, d = 10, width 64, 1,000 points": Row(("weighted rows",), _BOTH, _of_layers(10, 64)),
    "Δ, d = 1,000, width 512": Row(_HALVES, _BOTH, _exact(1000, Network(3, 512))),
    "Δ, d = 1,000, width 1,024": Row(_HALVES, _BOTH, _exact(1000, Network(3, 1024))),
    "Δ, d = 1,000": Row(("parts",), _BOTH, _exact(1000)),
    "Σ∂⁸, d = 1,000, 16 draws": Row(("parts",), _BOTH, _drawn(8)),
    "attention, 30 electrons, one walker": Row(("parts",), _BOTH, _one_walker),
    "Δ of a product, d = 8,000": Row(("chunks",), ("forward",), _all_directions),
    "A Aᵀ, 3,000 × 4,000": Row(("symmetric product",), ("forward",), _kernel_matrix(3000, 4000)),
    "A Aᵀ, 700 × 3,000": Row(("symmetric product",), ("forward",), _kernel_matrix(700, 3000)),
    "a step, d = 100,000: bits": Row(("bits",), (STEP,), _step),
    "a step, d = 100,000: sines": Row(("sine", "versine"), (STEP,), _step),
}
_MINI = {"Δ, d = 4": Row(("rows",), ("forward",), _exact(4, Network(3, 8), 5))}

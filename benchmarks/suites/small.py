"""Small problems, where a call is some tens of small operations: the exact Laplacian of an MLP of
two hidden layers by diffop and by others, all of them in turns in one process.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ..harness.case import Case, Scope, worded
from ..harness.program import Program
from ..harness.records import Record, Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table, duration
from ..harness.timing import spread
from ..subjects.agreement import PARTS, check_agreement
from ..subjects.methods import Function, Method, laplacian_by
from ..subjects.networks import Network, mlp, normal_points
from ..subjects.operators import OPERATORS
from ..subjects.steps import OURS

LAYERS = 3
TURNS, CALLS = 30, 20
"""How many turns there are, and how many calls a program has in each at most."""
LONG = 0.01
"""Seconds after which a program's turn is over: those that take milliseconds need few calls."""


def _hessian(u: Function) -> Function:
    return lambda x: jnp.trace(jax.hessian(u)(x))


def _jacfwd_of_grad(u: Function) -> Function:
    return lambda x: jnp.trace(jax.jacfwd(jax.grad(u))(x))


WAYS: dict[str, Method] = {
    OURS: OPERATORS["Laplacian"].ways[OURS](0),
    "folx": laplacian_by("folx"),
    "hessian": _hessian,
    "jvp over grad": laplacian_by("forward-over-reverse"),
    "jacfwd of grad": _jacfwd_of_grad,
    "jet": laplacian_by("jet"),
}


def turns(programs: Sequence[Program]) -> np.ndarray:
    """Seconds of each program, as a column: in each turn the shortest of several calls, which is
    not interrupted.
    """
    for program in programs:
        _shortest(program)
    return np.array([[_shortest(program) for program in programs] for _ in range(TURNS)])


def _shortest(program: Program) -> float:
    seconds: list[float] = []
    while len(seconds) < CALLS and sum(seconds) < LONG:
        started = time.perf_counter()
        jax.block_until_ready(program())
        seconds.append(time.perf_counter() - started)
    return min(seconds)


class Small(AbstractSuite):
    name = "small"
    title = "the Laplacian of small networks in few dimensions, by diffop and by others"
    packages = ("jax", "folx")

    def cases(self, scope: Scope) -> Iterator[Case]:
        for dim in scope.pick([2], [2, 5], [2, 3, 5, 10]):
            for width in scope.pick([32], [64], [32, 64]):
                for points in scope.pick([100], [100], [100, 1000]):
                    for part in scope.last(PARTS):
                        yield self.case(OURS, dim=dim, width=width, points=points, part=part)

    def measure(self, case: Case, runs: Path) -> Values:
        """Seconds by diffop, and how many times as long each of the others takes."""
        dim, part = case.whole("dim"), PARTS[str(case.sizes["part"])]
        network = mlp(dim, Network(LAYERS, case.whole("width")))
        check_agreement(WAYS, network, normal_points(2, dim), part=part)
        points = normal_points(case.whole("points"), dim)
        programs = [Program(part, way, network, points) for way in WAYS.values()]
        own, *others = turns(programs).T
        values = spread("seconds", own) | {"repeats": TURNS}
        for name, column in zip(list(WAYS)[1:], others, strict=True):
            values |= spread(name, column / own)
        best = min(others, key=lambda column: float(np.median(column)))
        return values | spread("ratio", own / best)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        others = [name for name in WAYS if name != OURS]
        header = ["d", "width", "points", "part", OURS, *others, "diffop / the best other"]
        yield Table("ratios", header, [_line(record, others) for record in ours])


def _line(record: Record, others: list[str]) -> list[str]:
    sizes = [worded(record.case.sizes[name]) for name in ("dim", "width", "points", "part")]
    ratios = [record.text(name, ".2f") for name in others]
    return [*sizes, duration(record), *ratios, record.text("ratio", ".2f")]

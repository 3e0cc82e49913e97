"""Exact operators of higher order by few coordinates: in the algebra of their polynomial, and as
each derivative by itself, powers of lines, or one factor inside of the other, in one process.
"""

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import diffop as do

from ..harness.case import Case, Scope, worded
from ..harness.program import Program
from ..harness.records import Record, Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table, duration
from ..harness.timing import spread
from ..subjects.agreement import PARTS, check_agreement
from ..subjects.networks import Network, mlp, normal_points
from ..subjects.steps import OURS
from .small import LAYERS, TURNS, turns


def _pairs(d: int) -> list[dict[int, int]]:
    return [{i: 2, j: 1} for i, j in itertools.permutations(range(d), 2)]


def _as_terms(d: int) -> do.operators.Operator:
    """Σ_{i≠j} ∂_i²∂_j with coefficients in an array, which are an argument of the program: each
    derivative is by itself.
    """
    return do.TensorOperator(_pairs(d), np.ones(len(_pairs(d))))


OPERATORS = {
    "Δ²": lambda d: do.Biharmonic(),
    "Δ³": lambda d: do.PolyLaplacian(3),
    "Σ ∂ᵢ²∂ⱼ": lambda d: functools.reduce(lambda a, b: a + b, map(do.Mixed, _pairs(d))),
    "Δ Σ ∂ᵢ³": lambda d: do.Laplacian() @ do.DiagonalK(3),
}
OTHERS = {**OPERATORS, "Σ ∂ᵢ²∂ⱼ": _as_terms}
DIMS = {"Δ²": [2, 3, 5, 8, 10], "Δ³": [2, 3], "Σ ∂ᵢ²∂ⱼ": [2, 5, 8], "Δ Σ ∂ᵢ³": [2, 3, 5]}
SYMBOLS = {
    "Δ²": "$Δ^2$",
    "Δ³": "$Δ^3$",
    "Σ ∂ᵢ²∂ⱼ": "$Σ_{i≠j} ∂_i^2 ∂_j$",
    "Δ Σ ∂ᵢ³": "$Δ Σ_i ∂_i^3$",
}
PLANS = ("nested", "power")


class Polynomials(AbstractSuite):
    name = "polynomials"
    title = "exact operators of higher order, as polynomials and term by term"
    packages = ("jax",)

    def cases(self, scope: Scope) -> Iterator[Case]:
        for name in scope.pick(["Δ²", "Σ ∂ᵢ²∂ⱼ"], list(DIMS), list(DIMS)):
            for dim in scope.pick(DIMS[name][:1], DIMS[name][:2], DIMS[name]):
                for part in scope.last(PARTS):
                    yield self.case(OURS, operator=name, dim=dim, part=part)

    def measure(self, case: Case, runs: Path) -> Values:
        """Seconds by diffop, and how many times as long the other plans take."""
        dim, part = case.whole("dim"), PARTS[str(case.sizes["part"])]
        ours, other = (each[str(case.sizes["operator"])](dim) for each in (OPERATORS, OTHERS))
        ways = {OURS: ours.exact} | {
            plan: lambda u, plan=plan: other.exact(u, plan=plan) for plan in PLANS
        }
        network = mlp(dim, Network(LAYERS, 64))
        check_agreement(ways, network, normal_points(2, dim), part=part)
        points = normal_points(100, dim)
        programs = [Program(part, way, network, points) for way in ways.values()]
        own, *others = turns(programs).T
        values = spread("seconds", own) | {"repeats": TURNS}
        values["coefficients"] = other.jets(points[0]).coefficients
        for plan, column in zip(PLANS, others, strict=True):
            values |= spread(plan, column / own)
        best = min(others, key=lambda column: float(np.median(column)))
        return values | spread("ratio", own / best)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        header = ["operator", "d", "part", "coefficients", OURS, *PLANS, "diffop / the best other"]
        yield Table("ratios", header, [_line(record) for record in ours])


def _line(record: Record) -> list[str]:
    sizes = [worded(record.case.sizes[name]) for name in ("dim", "part")]
    symbol = SYMBOLS[str(record.case.sizes["operator"])]
    ratios = [record.text(name, ".2f") for name in PLANS]
    carried = record.text("coefficients", ".0f")
    return [symbol, *sizes, carried, duration(record), *ratios, record.text("ratio", ".2f")]

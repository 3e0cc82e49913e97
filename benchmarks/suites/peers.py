"""Operators of a network by diffop and by others: folx, `jax.experimental.jet`, nested
differentiation, and PyTorch's collapsed Taylor mode.
"""

import abc
from collections.abc import Callable, Iterator
from typing import Any

from ..harness.case import Case, Scope
from ..harness.program import Program
from ..harness.records import Records
from ..harness.suite import AbstractTimed
from ..harness.table import Table, duration, listing, megabytes, ratio
from ..subjects.agreement import PARTS, check_agreement, gradients
from ..subjects.operators import OPERATORS, Subject
from ..subjects.steps import OURS

EACH = "gradient at each point"


class AbstractOperators(AbstractTimed):
    """Suites of operators at points, each beside diffop's way to the same numbers."""

    @abc.abstractmethod
    def subject(self, case: Case) -> Subject:
        """The ways to an operator, and what it is of."""

    def program(self, case: Case) -> Program:
        subject, dim = self.subject(case), case.whole("dim")
        method = subject.ways[case.method](dim)
        points = subject.points(subject.number, dim)
        return Program(_part(case), method, subject.network(dim), points)

    def beside(self, case: Case) -> Case | None:
        return None if case.method == OURS else case._replace(method=OURS)

    def check(self, case: Case) -> None:
        if case.method == OURS:  # which the others are compared with
            return
        subject, dim = self.subject(case), case.whole("dim")
        pair = {name: subject.ways[name](dim) for name in (OURS, case.method)}
        check_agreement(pair, subject.network(dim), subject.points(2, dim), part=_part(case))


def _part(case: Case) -> Callable[..., Any]:
    return {**PARTS, EACH: gradients}[str(case.sizes["part"])]


class Peers(AbstractOperators):
    name = "peers"
    title = "operators of an MLP at 100 points, value and gradient, by diffop and by others"
    budget = 8.0
    packages = ("jax", "folx")

    def cases(self, scope: Scope) -> Iterator[Case]:
        for operator, dim in _sizes(scope):
            ways = list(OPERATORS[operator].ways)
            for part in scope.last(PARTS):
                for method in scope.pick(ways[:2], ways, ways):
                    yield self.case(method, operator=operator, dim=dim, part=part)

    def subject(self, case: Case) -> Subject:
        return OPERATORS[str(case.sizes["operator"])]

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        for part in PARTS:
            columns = {
                "operator": lambda record: str(record.case.sizes["operator"]),
                "d": lambda record: f"{record.case.whole('dim'):,}",
                "method": lambda record: record.case.method,
                "time": duration,
                "beside diffop": ratio,
                "peak memory": megabytes,
                "temporary": lambda record: megabytes(record, "temporary_mb"),
            }
            yield listing(part, ours.where(part=part), columns)
        yield _summary(ours)


def _sizes(scope: Scope) -> list[tuple[str, int]]:
    full = {
        "Laplacian": [10, 50],
        "Laplacian of the ansatz": [1000],
        "weighted Laplacian": [50],
        "biharmonic": [5],
        "stochastic Laplacian": [50],
        "stochastic biharmonic": [50],
    }
    short = {"Laplacian": [50], "weighted Laplacian": [50], "biharmonic": [5]}
    short |= {"stochastic Laplacian": [50], "stochastic biharmonic": [50]}
    mini = {"weighted Laplacian": [3], "stochastic biharmonic": [20]}
    chosen = scope.pick([mini], [short], [full])[0]
    return [(operator, dim) for operator, dims in chosen.items() for dim in dims]


def _summary(ours: Records) -> Table:
    """How many times as long as diffop the fastest of the others takes."""
    lines = []
    for operator in ours.sizes("operator"):
        for dim in ours.where(operator=operator).sizes("dim"):
            cells = [operator, f"{dim:,}"]
            for part in PARTS:
                found = ours.where(operator=operator, dim=dim, part=part).good
                others = [record for record in found if "ratio" in record.values]
                fastest = min(others, key=lambda record: record.values["ratio"], default=None)
                cells.append("" if fastest is None else f"{ratio(fastest)}, {fastest.case.method}")
            lines.append(cells)
    header = ["operator", "d", "value: the fastest other", "gradient: the fastest other"]
    return Table("summary", header, lines)

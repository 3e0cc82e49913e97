"""The paper's problems on the unit ball: its tables `tab:allen-cahn-40GB`, `tab:poisson-40GB`,
`tab:sine-gordon-40GB` and `tab:3b-40GB`.
"""

from collections.abc import Iterator
from typing import ClassVar

from ..harness.case import Case, Scope
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed
from ..harness.table import Table, duration, grid, megabytes, steps_and_memory
from ..harness.training import Training
from ..subjects.steps import OURS, training
from .errors import MINI, AbstractTrained, error_columns, errors_table, summaries

SEEDS = [0, 1, 2, 3, 4]
EQUATIONS = ["poisson", "allen-cahn", "sine-gordon"]


class _Speed(AbstractTimed):
    """A training step with diffop beside the paper's method on the same coordinates."""

    solution: ClassVar[str]

    def cases(self, scope: Scope) -> Iterator[Case]:
        full = [100, 1000, 10_000, 100_000]
        for equation in scope.pick(EQUATIONS[:1], EQUATIONS, EQUATIONS):
            for dim in scope.pick([10], [100, 1000], full, [*full, 1_000_000]):
                yield self.case(OURS, problem=f"{equation}-{self.solution}", dim=dim)

    def program(self, case: Case) -> Training:
        return training(case.method, str(case.sizes["problem"]), case.whole("dim"))

    def beside(self, case: Case) -> Case:
        return case._replace(method="jet")

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield grid("speed", ours, "dim", _speed, "time of a step, d =", row=_problem)
        yield grid("memory", ours, "dim", megabytes, "peak memory, d =", row=_problem)
        printed = Records(each for each in paper if each.case.method == "jet")
        yield grid("paper-speed", printed, "dim", steps_and_memory, "the paper, d =", row=_problem)


class _Error(AbstractTrained):
    """Errors after 10,000 steps in the paper's settings."""

    paper = True
    solution: ClassVar[str]

    def cases(self, scope: Scope) -> Iterator[Case]:
        small = MINI if scope.level == "mini" else {}
        for equation in scope.pick(EQUATIONS[:1], EQUATIONS, EQUATIONS):
            for dim in scope.pick(
                [10], [100], [100, 1000], [100, 1000, 10_000, 100_000, 1_000_000]
            ):
                for seed in scope.pick([0], [0], SEEDS):
                    problem = f"{equation}-{self.solution}"
                    yield self.case(OURS, problem=problem, dim=dim, **small, seed=seed)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        printed = Records(each for each in paper if each.case.method == "jet")
        yield errors_table(summaries(ours, printed), error_columns(paper=True))


class TwoBodySpeed(_Speed):
    name = "two-body/speed"
    title = "a training step of the two-body problems: time and memory"
    solution = "two-body"


class ThreeBodySpeed(_Speed):
    name = "three-body/speed"
    title = "a training step of the three-body problems: time and memory"
    solution = "three-body"


class TwoBodyError(_Error):
    name = "two-body/error"
    title = "errors on the two-body problems in the paper's settings"
    solution = "two-body"

    def cases(self, scope: Scope) -> Iterator[Case]:
        yield from super().cases(scope)
        if scope == Scope("full"):  # a quarter of an hour, once
            yield self.case(OURS, problem="allen-cahn-two-body", dim=10_000, seed=0)


class ThreeBodyError(_Error):
    name = "three-body/error"
    title = "errors on the three-body problems in the paper's settings"
    solution = "three-body"


def _problem(record: Record) -> str:
    return f"`{record.case.sizes['problem']}`"


def _speed(record: Record) -> str:
    if "ratio" not in record.values:
        return duration(record)
    return f"{duration(record)}, jet {1 / record.values['ratio']:.3g}×"

"""Semilinear parabolic equations: the paper's tables `tab:heat-time-40GB`,
`tab:allen-cahn-time-40GB` and `tab:sine-gordon-time-40GB`.

Errors are those at one point, where a reference value is known: there the paper's relative L1 error
and the relative L2 error are the same.
"""

from collections.abc import Iterator

from ..harness.case import Case, Scope
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed
from ..harness.table import (
    Table,
    grid,
    megabytes,
    multiple,
    problem_and_method,
    steps_and_memory,
)
from ..harness.training import Training
from ..subjects.networks import Network
from ..subjects.steps import OURS, training
from .errors import MINI, AbstractTrained, error_columns, errors_table, summaries

PROBLEMS = ["semilinear-heat", "semilinear-allen-cahn", "semilinear-sine-gordon"]


class SemilinearSpeed(AbstractTimed):
    name = "semilinear/speed"
    title = "a training step of the semilinear equations: width 1024, 2000 + 100 points, 10 jets"

    def cases(self, scope: Scope) -> Iterator[Case]:
        full = [10, 100, 1000, 10_000]
        for dim in scope.pick([2], [10], full):
            for problem in scope.pick(PROBLEMS[:1], PROBLEMS[:1], PROBLEMS[:1], PROBLEMS):
                width = scope.pick([8], [1024], [1024])[0]
                points = scope.pick([8], [2000], [2000])[0]
                for method in (OURS, "sdgd"):
                    yield self.case(method, problem=problem, dim=dim, width=width, points=points)

    def program(self, case: Case) -> Training:
        sizes = case.sizes
        return training(
            case.method,
            str(sizes["problem"]),
            case.whole("dim"),
            n=10,
            points=case.whole("points"),
            network=Network(width=case.whole("width")),
        )

    def beside(self, case: Case) -> Case | None:
        return None if case.method == OURS else case._replace(method=OURS)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield grid(
            "speed", ours, "dim", _speed, "time and memory of a step, d =", row=problem_and_method
        )
        timed = Records(each for each in paper if "steps_per_s" in each.values)
        yield grid(
            "paper-speed", timed, "dim", steps_and_memory, "the paper, d =", row=problem_and_method
        )


class SemilinearError(AbstractTrained):
    name = "semilinear/error"
    title = "errors on the semilinear equations: the paper's settings, smaller on a CPU"
    paper = True

    def cases(self, scope: Scope) -> Iterator[Case]:
        small = {"width": 128, "batch": 200, "steps": 5000}
        for dim in scope.pick([2], [10], [10], [10, 100, 1000, 10_000]):
            for problem in scope.pick(PROBLEMS[:1], PROBLEMS[:1], PROBLEMS):
                for seed in scope.pick([0], [0], [0], [0, 1, 2, 3, 4]):
                    sizes = scope.pick([MINI], [small], [small], [{}])[0]
                    yield self.case(OURS, problem=problem, dim=dim, **sizes, seed=seed)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        printed = Records(each for each in paper if each.case.method == "jet")
        yield errors_table(summaries(ours, printed), error_columns(paper=True))


def _speed(record: Record) -> str:
    return f"{multiple(record)}, {megabytes(record)}"

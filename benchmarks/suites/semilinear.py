"""Semilinear parabolic equations: the paper's tables `tab:heat-time-40GB`,
`tab:allen-cahn-time-40GB` and `tab:sine-gordon-time-40GB`.

The paper gives relative L1 errors at one point, beside a reference value; ours are on points of
space and time, beside the reference that the problem names.
"""

from collections.abc import Iterator

from ..harness.case import Case, Scope
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed, AbstractTrained
from ..harness.table import Table, duration, grid, listing, megabytes
from ..harness.training import Training
from ..subjects.networks import Network
from ..subjects.steps import OURS, training
from .errors import error_columns, summaries

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
        yield grid("speed", ours, "dim", _speed, "time and memory of a step, d =", row=_row)
        timed = Records(each for each in paper if "steps_per_s" in each.values)
        yield grid("paper-speed", timed, "dim", _papers, "the paper, d =", row=_row)


class SemilinearError(AbstractTrained):
    name = "semilinear/error"
    title = "errors on the semilinear equations: width 128, 200 points, 5000 steps on a CPU"

    def cases(self, scope: Scope) -> Iterator[Case]:
        small = {"width": 128, "batch": 200, "steps": 5000}
        mini = {"width": 4, "batch": 4, "steps": 2}
        for dim in scope.pick([2], [10], [10], [10, 100, 1000, 10_000]):
            for problem in scope.pick(PROBLEMS[:1], PROBLEMS[:1], PROBLEMS):
                for seed in scope.pick([0], [0], [0], [0, 1, 2, 3, 4]):
                    sizes = scope.pick([mini], [small], [small], [{}])[0]
                    yield self.case(OURS, problem=problem, dim=dim, **sizes, seed=seed)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        printed = Records(each for each in paper if each.case.method == "jet")
        columns = error_columns(paper=True)
        columns = {
            name.replace("error", "error (L1, one point)") if "paper" in name else name: cell
            for name, cell in columns.items()
        }
        yield listing("error", summaries(ours, printed), columns)


def _row(record: Record) -> str:
    return f"`{record.case.sizes['problem']}`, {record.case.method}"


def _speed(record: Record) -> str:
    text = f"{duration(record)}, {megabytes(record)}"
    return text + (f", {record.values['ratio']:.3g}×" if "ratio" in record.values else "")


def _papers(record: Record) -> str:
    return f"{record.text('steps_per_s', '.4g')} steps/s, {megabytes(record)}"

"""The residual's gradient in the loss: the paper's table `tab:gpinn`."""

from collections.abc import Iterator

from ..harness.case import Case, Scope
from ..harness.records import Records
from ..harness.suite import AbstractTimed
from ..harness.table import Table, grid, multiple, problem_and_method, steps_per_second
from ..harness.training import Training
from ..subjects.steps import GPINN_WEIGHT, OURS, gradient_enhanced
from .errors import MINI, AbstractTrained

PROBLEMS = ["allen-cahn-two-body", "sine-gordon-two-body"]


class GpinnSpeed(AbstractTimed):
    name = "gpinn/speed"
    title = "a gradient-enhanced training step: 16 jets, 4 components of the gradient"

    def cases(self, scope: Scope) -> Iterator[Case]:
        every_dim = [100, 1000, 10_000, 100_000]
        ways = [OURS, "jvp-hvp", "none"]
        for dim in scope.pick([10], [100, 1000], [100, 1000, 10_000], every_dim):
            for problem in scope.pick(PROBLEMS[:1], PROBLEMS[:1], PROBLEMS[:1], PROBLEMS):
                for method in scope.pick([OURS], ways, ways):
                    yield self.case(method, problem=problem, dim=dim)

    def program(self, case: Case) -> Training:
        return gradient_enhanced(case.method, str(case.sizes["problem"]), case.whole("dim"))

    def beside(self, case: Case) -> Case | None:
        return None if case.method == OURS else case._replace(method=OURS)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield grid("speed", ours, "dim", multiple, "time of a step, d =", row=problem_and_method)
        timed = Records(each for each in paper if "steps_per_s" in each.values)
        yield grid(
            "paper-speed",
            timed,
            "dim",
            steps_per_second,
            "the paper's steps/s, d =",
            row=problem_and_method,
        )


class GpinnError(AbstractTrained):
    name = "gpinn/error"
    title = "errors with and without the residual's gradient in the loss, in the paper's settings"
    paper = True

    def cases(self, scope: Scope) -> Iterator[Case]:
        mini = MINI if scope.level == "mini" else {}
        every_dim, weights = [100, 1000, 10_000, 100_000], [0.0, GPINN_WEIGHT]
        for dim in scope.pick([10], [100], [], every_dim):
            for problem in scope.pick(PROBLEMS[:1], PROBLEMS[:1], PROBLEMS[:1], PROBLEMS):
                for gpinn in scope.pick([GPINN_WEIGHT], weights, weights):
                    steps = mini or {"steps": 20_000}
                    yield self.case(OURS, problem=problem, dim=dim, gpinn=gpinn, **steps, seed=0)

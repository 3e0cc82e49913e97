"""Speed and memory of a training step by every method (the paper's tables
`tab:allen-cahn-40GB-speed` and `-mem`).
"""

from collections.abc import Iterator

import jax

import diffop as do

from ..harness.case import Case, Scope
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed
from ..harness.table import Curves, Table, curves, grid, megabytes, multiple, steps_per_second
from ..harness.training import Training
from ..subjects.agreement import check_agreement
from ..subjects.networks import ansatz, ball_points
from ..subjects.steps import JETS, OURS, PAPERS, methods_on_same_draws, training

PROBLEM = "allen-cahn-two-body"


class Ablation(AbstractTimed):
    name = "ablation"
    title = "a training step of two-body Allen-Cahn by every method: time and memory"
    limit = 120.0
    packages = ("jax", "folx")

    def cases(self, scope: Scope) -> Iterator[Case]:
        every = [OURS, *PAPERS, *do.baselines.names()]
        methods = scope.pick(["jet"], every, every)
        few, every_dim = [100, 1000], [10**k for k in range(2, 7)]
        dims = {
            JETS: scope.pick([10], few, every_dim),
            100: scope.pick([], [], [1000], every_dim),
        }
        for n in dims:
            for dim in dims[n]:
                for method in methods:
                    yield self.case(method, dim=dim, n=n)

    def program(self, case: Case) -> Training:
        return training(case.method, PROBLEM, case.whole("dim"), n=case.whole("n"))

    def beside(self, case: Case) -> Case | None:
        return None if case.method == OURS else case._replace(method=OURS)

    def check(self, case: Case) -> None:
        """On the same coordinates we and the paper's method estimate the same."""
        if case.method == "jet":
            dim = case.whole("dim")
            ways = methods_on_same_draws(jax.random.key(2))
            check_agreement(ways, ansatz(dim), ball_points(2, dim))

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        for n in ours.sizes("n"):
            chosen = ours.where(n=n)
            yield grid(f"time-{n}", chosen, "dim", multiple, "time of a step, d =")
            yield grid(f"memory-{n}", chosen, "dim", megabytes, "peak memory, d =")
        for what, cell in (("time", steps_per_second), ("memory", megabytes)):
            corner = {"time": "the paper's steps/s, d =", "memory": "the paper's memory, d ="}[what]
            yield grid(f"paper-{what}", paper, "dim", cell, corner, row=_papers_name)

    def pictures(self, ours: Records) -> Iterator[Curves]:
        chosen = ours.where(n=JETS)
        yield curves("ablation-time", chosen, ("dim", "dimensions"), ("seconds", "seconds / step"))
        yield curves("ablation-ratio", chosen, ("dim", "dimensions"), ("ratio", "time / diffop's"))
        yield curves("ablation-memory", chosen, ("dim", "dimensions"), ("peak_mb", "peak MB"))


def _papers_name(record: Record) -> str:
    """It has STDE with 16 and with 100 draws, all others with 100."""
    method = "STDE" if record.case.method == "jet" else record.case.method
    return f"{method}, n = {record.case.sizes['n']}"

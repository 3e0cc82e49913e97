"""Blocks of coordinates that share the first layer: the paper's table
`tab:allen-cahn-block-40GB`.
"""

from collections.abc import Iterator
from typing import Any

from ..harness.case import Case, Scope, Size
from ..harness.records import Record, Records
from ..harness.suite import AbstractTimed
from ..harness.table import Table, listing, megabytes
from ..harness.training import Training
from ..subjects.steps import OURS, training
from .errors import MINI, AbstractTrained, error_columns, errors_table, summaries

PROBLEM = "allen-cahn-two-body"


class WeightSharingSpeed(AbstractTimed):
    name = "weight-sharing/speed"
    title = "a training step of two-body Allen-Cahn by the size B of blocks"
    limit = 600.0

    def cases(self, scope: Scope) -> Iterator[Case]:
        blocks = [1, 10, 50, 100, 500, 1000]
        full = [(1_000_000, [1, 50, 500]), (5_000_000, [500])]
        every = [(1_000_000, blocks), (5_000_000, blocks)]
        for dim, sizes in scope.pick([(20, [10])], [(10_000, blocks[:4])], full, every):
            for block in sizes:
                yield self.case(OURS, dim=dim, block=block)

    def program(self, case: Case) -> Training:
        return training(case.method, PROBLEM, case.whole("dim"), block=case.whole("block"))

    def values(self, case: Case, program: Any) -> dict[str, float]:
        return {"parameters": program.parameters}

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        def printed(record: Record, text: str) -> str:
            found = paper.where(**record.case.sizes)
            if not found:
                return ""
            return megabytes(found[0]) if text == "peak_mb" else found[0].text(text, ".4g")

        columns = {
            "d": lambda record: f"{record.case.whole('dim'):,}",
            "B": lambda record: str(record.case.sizes["block"]),
            "parameters": lambda record: record.text("parameters", ",.0f"),
            "s / step": lambda record: record.text("seconds"),
            "peak memory": megabytes,
            "the paper's steps/s": lambda record: printed(record, "steps_per_s"),
            "the paper's memory": lambda record: printed(record, "peak_mb"),
        }
        yield listing("speed", ours, columns)


class WeightSharingError(AbstractTrained):
    name = "weight-sharing/error"
    title = "errors on two-body Allen-Cahn by the size B of blocks; the rest as in the paper"
    paper = True

    def cases(self, scope: Scope) -> Iterator[Case]:
        mini = MINI if scope.level == "mini" else {}
        for dim in scope.pick([20], [1000], [1000], [1_000_000]):
            for block in scope.pick([10], [10], [10, 50], [1, 10, 50, 100, 500, 1000]):
                for seed in scope.pick([0], [0], [0], [0, 1, 2, 3, 4]):
                    yield self.case(OURS, problem=PROBLEM, dim=dim, block=block, **mini, seed=seed)


LATTICE = "allen-cahn-two-body-lattice"
_STEPS = {1_000_000: 25}
"""Of the dense network, where a step takes seconds; 100 elsewhere."""

_DENSE: dict[str, Size] = {
    "batch": 6,
    "n": 8,
    "width": 128,
    "depth": 3,
    "block": 1,
    "channels": 1,
    "sharing": "joined",
    "optimiser": "adam",
    "fan_in_rate": 0.1,
}
"""The paper's network, where blocks are recommended."""


class WeightSharingLattice(AbstractTrained):
    name = "weight-sharing/lattice"
    title = "errors where the solution repeats: blocks that are summed, and a dense first layer"

    def cases(self, scope: Scope) -> Iterator[Case]:
        mini = MINI if scope.level == "mini" else {}
        for dim in scope.pick([20], [10_000], [10_000, 100_000, 1_000_000]):
            # R and its gradient are alike in size: |∇u|² is d times u²
            dense = {**_DENSE, "steps": _STEPS.get(dim, 100), "gpinn": 1 / dim}
            for network in ({}, dense):
                yield self.case(OURS, problem=LATTICE, dim=dim, **{**network, **mini}, seed=0)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        columns = {**error_columns(), "peak memory": megabytes}
        columns["options"] = columns.pop("options")  # last, since they are long
        yield errors_table(summaries(ours), columns)

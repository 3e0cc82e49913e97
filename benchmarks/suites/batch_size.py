"""How many draws are worth their time: errors after training with 1 draw up to all of them.

The square of an estimated residual has the variance of the estimate as a bias; `pairs` takes it
away (see `diffop.losses.ResidualLoss`). The last n is d: the Laplacian is exact there. The paper
has 16 and 100 draws in its table `tab:allen-cahn-40GB`, and a caption on more without numbers.
"""

from collections.abc import Iterator
from typing import Any

from ..harness.case import Case, Scope
from ..harness.records import Record, Records
from ..harness.table import Curves, Table, curves
from ..subjects.steps import OURS
from .errors import MINI, AbstractTrained, error_columns, errors_table, summaries

PROBLEM = "allen-cahn-two-body"


class BatchSize(AbstractTrained):
    name = "batch-size"
    title = "errors on two-body Allen-Cahn by the number of draws; the rest as in the paper"
    paper = True

    def cases(self, scope: Scope) -> Iterator[Case]:
        dim, steps = scope.pick([(8, 2)], [(100, 1000)], [(100, 10_000)])[0]
        common: dict[str, Any] = {"problem": PROBLEM, "dim": dim, "steps": steps}
        common |= {"learning_rate": 5e-3, "input_scale": 1.5}
        if scope.level == "mini":
            common |= MINI
        for n in scope.pick([4, 8], [1, 16, 100], [1, 4, 16, 64, 100]):
            probes = "exact" if n == dim else "sparse"
            # one draw has no pairs, and all of them no bias
            for square in ["biased", "pairs"] if 1 < n < dim else ["biased"]:
                for seed in scope.pick([0], [0], [0], [0, 1, 2, 3, 4]):
                    yield self.case(OURS, **common, n=n, probes=probes, square=square, seed=seed)

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        chosen = error_columns()
        columns = {
            "draws": lambda record: f"{record.case.whole('n'):,}",
            "square": _square,
            **{name: chosen[name] for name in ("relative L2 error", "null model", "skill")},
            "steps/s": lambda record: record.text("steps_per_s"),
        }
        yield errors_table(summaries(ours), columns)

    def pictures(self, ours: Records) -> Iterator[Curves]:
        summed = summaries(ours)
        yield curves("draws", summed, ("n", "draws"), ("rel_l2", "relative L2 error"), _square)


def _square(record: Record) -> str:
    exact = record.case.sizes["probes"] == "exact"
    return "exact" if exact else str(record.case.sizes["square"])

"""PyTorch's collapsed Taylor mode (Dangel et al., NeurIPS 2025) beside diffop.

It runs in a process and a virtual environment of its own, eagerly, on its own random network of the
same shape; its medians stand beside those of diffop, measured directly after it. Its stochastic
operators draw directions at each point; diffop's draw serves all points.
"""

from collections.abc import Iterator
from pathlib import Path

from ..harness.case import Case, Scope
from ..harness.records import Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table, duration, listing
from ..harness.timing import interleaved, spread
from ..harness.torch import call
from ..subjects.agreement import PARTS
from ..subjects.operators import DRAWS, POINTS
from .peers import Peers

_OPERATORS = {
    "Laplacian": [50],
    "weighted Laplacian": [50],
    "biharmonic": [5],
    "stochastic Laplacian": [50],
    "stochastic biharmonic": [50],
}
_METHODS = ["collapsed", "taylor", "nested"]
_BUDGET = 8.0
_SCRIPT = Path(__file__).parents[1] / "subjects" / "torch_collapsed.py"


class Collapsed(AbstractSuite):
    name = "peers/torch"
    title = "operators of an MLP at 100 points by PyTorch's Taylor mode, beside diffop"
    packages = ("jax", "torch", "jet-for-pytorch")

    def cases(self, scope: Scope) -> Iterator[Case]:
        chosen = scope.pick([{"Laplacian": [3]}], [{"Laplacian": [50]}], [_OPERATORS])[0]
        for operator, dims in chosen.items():
            for dim in dims:
                for part in PARTS:
                    for method in scope.pick(_METHODS[:1], _METHODS, _METHODS):
                        yield self.case(method, operator=operator, dim=dim, part=part)

    def measure(self, case: Case, runs: Path) -> Values:
        values = call(str(_SCRIPT), *_arguments(case))
        found: Values = {name: value for name, value in values.items() if name != "versions"}
        ours = Peers().program(case._replace(suite=Peers.name, method="diffop"))
        found |= spread("beside_seconds", interleaved([ours], _BUDGET)[:, 0])
        return found | {"ratio": found["seconds"] / found["beside_seconds"]}

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        columns = {
            "operator": lambda record: str(record.case.sizes["operator"]),
            "d": lambda record: f"{record.case.whole('dim'):,}",
            "part": lambda record: str(record.case.sizes["part"]),
            "method": lambda record: f"PyTorch, {record.case.method}",
            "time": duration,
            "diffop": lambda record: duration(record, "beside_seconds"),
            "beside diffop": lambda record: record.text("ratio"),
        }
        yield listing("all", ours, columns)


def _arguments(case: Case) -> list[str]:
    operator = str(case.sizes["operator"]).lower().replace(" ", "-")
    sizes = {"dim": case.whole("dim"), "points": POINTS, "seconds": _BUDGET}
    if operator.startswith("stochastic"):
        sizes["samples"] = DRAWS
    words = [f"--operator={operator}", f"--method={case.method}", f"--part={case.sizes['part']}"]
    return words + [f"--{name}={size}" for name, size in sizes.items()]

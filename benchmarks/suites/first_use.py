"""What a notebook feels: how long importing takes, and the first call that nothing compiles.

Each is timed in fresh processes, in turns with what it is beside: importing Equinox and Optax, and
the trace of `jax.hessian`. The network is tanh, of width 64, in ten dimensions.
"""

import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..harness.case import Case, Scope
from ..harness.records import Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table

TURNS = 7

_TIMED = """
import time
{before}
began = time.perf_counter()
{timed}
print(time.perf_counter() - began)
"""

_BEFORE = """
import jax, diffop as do
from benchmarks.suites.compiling import DIM, WIDTH
from benchmarks.subjects.networks import Network, mlp
u, x = mlp(DIM, Network(4, WIDTH)), jax.numpy.ones(DIM)
u(x).block_until_ready()
"""

USES = {
    "import": ("", "import diffop", "import equinox, optax", 1.5),
    "first call": (
        _BEFORE,
        "do.Laplacian().exact(u)(x).block_until_ready()",
        "jax.numpy.trace(jax.hessian(u)(x)).block_until_ready()",
        1.3,
    ),
}
"""What comes before, what is timed, what is beside it, and the largest ratio to reach."""


class FirstUse(AbstractSuite):
    name = "first-use"
    title = "importing, and the first call outside of jit"
    packages = ("jax", "equinox", "optax")

    def cases(self, scope: Scope) -> Iterator[Case]:
        for use in scope.pick(["import"], list(USES), list(USES)):
            yield self.case("diffop", use=use)

    def measure(self, case: Case, runs: Path) -> Values:
        """Medians in seconds."""
        before, *programs, _ = USES[str(case.sizes["use"])]
        found: dict[str, list[float]] = {"seconds": [], "beside": []}
        for _ in range(TURNS):
            for name, program in zip(found, programs, strict=True):
                found[name].append(_seconds(before, str(program)))
        return {name: statistics.median(seconds) for name, seconds in found.items()}

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        lines = []
        for record in ours.good:
            use, v = str(record.case.sizes["use"]), record.values
            _, timed, beside, goal = USES[use]
            times = (f"{v['seconds']:.2f} s", f"{v['beside']:.2f} s")
            ratio = f"{v['seconds'] / v['beside']:.2f}"
            lines.append([f"`{timed}`", f"`{beside}`", *times, ratio, f"≤ {goal}"])
        columns = ["timed", "beside", "diffop", "the other", "ratio", "to reach"]
        yield Table("ratios", columns, lines)


def _seconds(before: str, timed: str) -> float:
    program = _TIMED.format(before=before, timed=timed)
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(run.stdout)

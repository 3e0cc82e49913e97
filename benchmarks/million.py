"""The exact Laplacian of the ansatz in a million dimensions, beside the plain network.

    python -m benchmarks.million --dim 1000000

Nothing else can be compared with here. The first weight matrix alone takes 512 MB, the points 400.
"""

import jax

import diffop as do

from .command import run_alone
from .comparison import PARTS, check_agreement, compare
from .memory import in_own_process, peak_resident_mb
from .peers import Method, itself, laplacian_by_hand
from .program import Program
from .sizes import Dimension, dimensions
from .subjects import ansatz, ball_points
from .table import Row

CASE = "exact Laplacian, ansatz"


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    memory = [_memory_row(what, size, points) for what in PARTS]  # before this process holds arrays
    u, x = ansatz(size.d), ball_points(points, size.d)
    ours = do.Laplacian().exact
    check_agreement({"by hand": laplacian_by_hand, "diffop": ours}, u, x)
    return compare(CASE, ours, {"plain u": itself}, u, x, repeats) + memory


def peak(what: str, exact: bool, dim: int, points: int) -> float:
    """The peak of a process that makes the network and the points and runs one program twice."""
    method: Method = do.Laplacian().exact if exact else itself
    program = Program(PARTS[what], method, ansatz(dim), ball_points(points, dim))
    for _ in range(2):
        jax.block_until_ready(program())
    return peak_resident_mb()


def _memory_row(what: str, size: Dimension, points: int) -> Row:
    ours, other = (in_own_process(peak, what, exact, size.d, points) for exact in (True, False))
    return Row(CASE, size, f"peak memory, {what}", "plain u", ours, other, "MB")


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(1_000_000), repeats=5)

"""The exact Laplacian of the ansatz (1 − |x|²) mlp(x), beside folx.

python -m benchmarks.ansatz --dim 1000
"""

import diffop as do

from .command import run_alone
from .comparison import check_agreement, compare
from .peers import has_folx, laplacian_by, laplacian_by_hand
from .sizes import Dimension, dimensions
from .subjects import ansatz, ball_points
from .table import Row


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    if not has_folx():
        return []
    u, x = ansatz(size.d), ball_points(points, size.d)
    ours, others = do.Laplacian().exact, {"folx": laplacian_by("folx")}
    check_agreement({"by hand": laplacian_by_hand, "diffop": ours, **others}, u, x)
    return compare("exact Laplacian, ansatz", ours, others, u, x, repeats)


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(1_000), repeats=10)

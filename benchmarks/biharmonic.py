"""The exact biharmonic of a plain MLP, beside folx applied twice.

python -m benchmarks.biharmonic --dim 5 10
"""

import diffop as do

from .command import run_alone
from .comparison import check_agreement, compare
from .peers import folx_biharmonic, has_folx
from .sizes import Dimension, dimensions
from .subjects import mlp, normal_points
from .table import Row


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    if not has_folx():
        return []
    u, x = mlp(size.d), normal_points(points, size.d)
    ours, others = do.Biharmonic().exact, {"nested folx": folx_biharmonic}
    check_agreement({"diffop": ours, **others}, u, x)
    return compare("exact biharmonic, plain MLP", ours, others, u, x, repeats)


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(5, 10), repeats=20)

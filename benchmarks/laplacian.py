"""The exact Laplacian of a plain MLP, beside the fastest other way in JAX.

    python -m benchmarks.laplacian --dim 10 50 100

The others: nested forward over reverse, `jax.experimental.jet`, folx.
"""

import diffop as do

from .command import run_alone
from .comparison import check_agreement, compare
from .peers import has_folx, laplacian_by
from .sizes import Dimension, dimensions
from .subjects import mlp, normal_points
from .table import Row


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    u, x = mlp(size.d), normal_points(points, size.d)
    ours = do.Laplacian().exact
    others = {
        "nested": laplacian_by("forward-over-reverse"),
        "jax.experimental.jet": laplacian_by("jet"),
    }
    if has_folx():
        others["folx"] = laplacian_by("folx")
    check_agreement({"diffop": ours, **others}, u, x)
    return compare("exact Laplacian, plain MLP", ours, others, u, x, repeats)


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(10, 50, 100), repeats=20)

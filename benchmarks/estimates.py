"""The estimated Laplacian of the ansatz from 16 jets, beside the plain network.

    python -m benchmarks.estimates --dim 1000

The ratio is the price of a second derivative in d dimensions, in network evaluations.
"""

import jax

import diffop as do

from .command import run_alone
from .comparison import check_agreement, compare
from .peers import itself
from .sizes import Dimension, dimensions
from .subjects import ansatz, ball_points
from .table import Row

JETS = 16


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    u, x = ansatz(size.d), ball_points(points, size.d)
    # An estimate is a pytree that holds its key: it is drawn anew in each call, as in training.
    key = jax.random.key(2)
    estimate = do.Laplacian().estimate(key, JETS)
    jets = do.baselines.estimate("jet", do.Laplacian(), key, JETS)  # the same coordinates
    check_agreement({"diffop": estimate, "one-hot jets": jets}, u, x)
    return compare("estimated Laplacian", estimate, {"plain u": itself}, u, x, repeats)


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(1_000, 100_000), repeats=20)

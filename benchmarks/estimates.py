"""The estimated Laplacian of the ansatz from 16 jets, beside the plain network.

    python -m benchmarks.estimates --dim 1000

The ratio is the price of a second derivative in d dimensions, in network evaluations.
"""

import jax
import jax.numpy as jnp

import diffop as do

from .command import run_alone
from .comparison import check_agreement, compare
from .peers import Function, Method, itself, stde_at
from .sizes import Dimension, dimensions
from .subjects import ansatz, ball_points
from .table import Row

JETS = 16


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    u, x = ansatz(size.d), ball_points(points, size.d)
    # An estimate is a pytree that holds its key: it is drawn anew in each call, as in training.
    estimate = do.Laplacian().estimate(jax.random.key(2), JETS)
    check_agreement({"diffop": estimate, "jets by hand": by_hand(estimate, size.d)}, u, x)
    return compare("estimated Laplacian", estimate, {"plain u": itself}, u, x, repeats)


def by_hand(estimate: do.Estimate, dim: int) -> Method:
    """The same sum of second derivatives, from the coordinates that the estimate says it drew."""
    (jets,) = estimate.jets(jax.ShapeDtypeStruct((dim,), jnp.float32))
    directions = jets.directions[0]
    assert isinstance(directions, do.jets.Sparse)
    paper = stde_at(jnp.asarray(directions.positions[:, 0]))

    def laplacian(u: Function) -> Function:
        return lambda x: paper(u)(x)["lap"]

    return laplacian


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(1_000, 100_000), repeats=20)

"""The Laplacian of a network beside one written out for this network, and beside folx.

    python -m benchmarks.studies.by_hand
    python -m benchmarks.studies.by_hand --dims 10 --width 32 --budget 0

`benchmarks/subjects/by_hand.py` is what is computed: u(t, x) at 16 points, four hidden layers of
512 tanh, with a factor for the end condition, and the gradient of the mean square by the weights.
"""

import argparse
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..harness.beside import COLUMNS, beside_first
from ..harness.machine import machine
from ..harness.report import in_words
from ..harness.table import Table
from ..subjects.by_hand import WAYS, network

_HEADER = ("operator", "d", "part", *COLUMNS)


def values(method: Any, net: eqx.nn.MLP, t: jax.Array, x: jax.Array) -> jax.Array:
    """At all points."""
    return jax.vmap(lambda t, x: method(net, t, x))(t, x)


def gradient(method: Any, net: eqx.nn.MLP, t: jax.Array, x: jax.Array) -> Any:
    """Of the mean square, by the weights."""
    return eqx.filter_grad(lambda net: jnp.mean(values(method, net, t, x) ** 2))(net)


def measure(
    weighted: bool, dim: int, part: Any, width: int, points: int, budget: float
) -> list[list[str]]:
    """A line for each way."""
    net = network(dim, width)
    keys = jax.random.split(jax.random.key(1))
    t, x = jax.random.uniform(keys[0], (points,)), jax.random.normal(keys[1], (points, dim))
    ways = {name: partial(part, way(weighted)) for name, way in WAYS.items()}
    operator = "0.16 Σ x_i² ∂_i²" if weighted else "Laplacian"
    lines = beside_first(ways, (net, t, x), 1e-3, budget)
    return [[operator, f"{dim:,}", part.__name__, *line] for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dims", type=int, nargs="+", default=[100, 512, 2000])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--points", type=int, default=16)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of a case; 0 for none")
    options = parser.parse_args()
    print(f"{in_words(machine())}; {options.points} points, layers of {options.width}\n")
    lines = []
    for weighted in (False, True):
        for dim in options.dims:
            for part in (values, gradient):
                lines += measure(weighted, dim, part, options.width, options.points, options.budget)
    print(Table("by hand", _HEADER, lines).markdown())


if __name__ == "__main__":
    main()

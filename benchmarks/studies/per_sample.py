"""The gradient of a residual by the weights at each point, for networks that are products.

    python -m benchmarks.studies.per_sample
    python -m benchmarks.studies.per_sample --points 4 --budget 0

`benchmarks/subjects/products.py` is what is computed: Δu, and `vmap(grad)` of it by the weights.
"""

import argparse
from functools import partial
from typing import Any

import equinox as eqx
import jax

from ..harness.beside import COLUMNS, beside_first
from ..harness.machine import machine
from ..harness.report import in_words
from ..harness.table import Table
from ..subjects.products import NETWORKS, by_diffop, by_folx, nested

_HEADER = ("network", "part", *COLUMNS)


def values(method: Any, net: Any, x: jax.Array) -> jax.Array:
    """At all points."""
    return jax.vmap(lambda x: method(net, x))(x)


def gradients(method: Any, net: Any, x: jax.Array) -> Any:
    """Of each point's value, by the weights: a row of a Gauss–Newton method's Jacobian."""
    return jax.vmap(lambda x: eqx.filter_grad(lambda net: method(net, x))(net))(x)


def measure(name: str, dim: int, part: Any, points: int, budget: float) -> list[list[str]]:
    """A line for each way."""
    make, by_hand = NETWORKS[name]
    net, x = make(dim), jax.random.normal(jax.random.key(1), (points, dim)) / 2
    known = {"diffop": by_diffop, "by hand": by_hand, "nested": nested, "folx": by_folx}
    ways = {way: partial(part, method) for way, method in known.items()}
    lines = beside_first(ways, (net, x), 1e-4, budget)
    return [[name, part.__name__, *line] for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--points", type=int, default=256)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of a case; 0 for none")
    options = parser.parse_args()
    print(f"{in_words(machine())}; {options.points} points in {options.dim} dimensions\n")
    lines = [
        line
        for name in NETWORKS
        for part in (values, gradients)
        for line in measure(name, options.dim, part, options.points, options.budget)
    ]
    print(Table("per sample", _HEADER, lines).markdown())


if __name__ == "__main__":
    main()

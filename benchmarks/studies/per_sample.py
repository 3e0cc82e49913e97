"""The gradient of a residual by the weights at each point, for networks that are products.

    python -m benchmarks.studies.per_sample
    python -m benchmarks.studies.per_sample --points 4 --budget 0

`benchmarks/subjects/products.py` is what is computed: Δu, and `vmap(grad)` of it by the weights.
"""

import argparse
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from ..harness.machine import machine
from ..harness.program import Program
from ..harness.report import in_words
from ..harness.table import Table
from ..harness.timing import interleaved
from ..subjects.products import NETWORKS, by_diffop, by_folx, nested

_HEADER = ("network", "part", "way", "ms", "beside diffop", "temporary MB", "10⁹ flops")


def values(method: Any, net: Any, x: jax.Array) -> jax.Array:
    """At all points."""
    return jax.vmap(lambda x: method(net, x))(x)


def gradients(method: Any, net: Any, x: jax.Array) -> Any:
    """Of each point's value, by the weights: a row of a Gauss–Newton method's Jacobian."""
    return jax.vmap(lambda x: eqx.filter_grad(lambda net: method(net, x))(net))(x)


def measure(name: str, dim: int, part: Any, points: int, budget: float) -> list[list[str]]:
    """A line for each way; ratios are medians of the ratios of turns."""
    make, by_hand = NETWORKS[name]
    net, x = make(dim), jax.random.normal(jax.random.key(1), (points, dim)) / 2
    ways = {"diffop": by_diffop, "by hand": by_hand, "nested": nested, "folx": by_folx}
    programs = [Program(lambda net, x, way=way: part(way, net, x), net, x) for way in ways.values()]
    expected, *others = (ravel_pytree(program())[0] for program in programs)
    for other in others:
        np.testing.assert_allclose(other, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    seconds = interleaved(programs, budget) if budget else np.full((1, len(programs)), np.nan)
    ratios = np.median(seconds / seconds[:, :1], axis=0)
    return [
        [
            name,
            part.__name__,
            way,
            f"{1e3 * np.median(seconds[:, column]):.3g}",
            f"{ratios[column]:.2f}",
            f"{program.temporary_mb:.1f}",
            f"{program.flops / 1e9:.3f}",
        ]
        for column, (way, program) in enumerate(zip(ways, programs, strict=True))
    ]


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

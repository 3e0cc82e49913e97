"""The kinetic energy of a wave function with attention, beside folx with and without sparsity.

    python -m benchmarks.studies.attention
    python -m benchmarks.studies.attention --electrons 4 --parts values --budget 0

`benchmarks/subjects/attention.py` is what is computed: two blocks of four heads, 64 features.
"""

import argparse
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from ..harness.beside import COLUMNS, beside_first
from ..harness.machine import machine
from ..harness.report import in_words
from ..harness.table import Table
from ..subjects.attention import WAYS, parameters

_HEADER = ("electrons", "part", *COLUMNS)


def values(method: Any, weights: Any, walkers: jax.Array) -> jax.Array:
    """At all walkers."""
    return jax.vmap(lambda r: method(weights, r))(walkers)


def gradient(method: Any, weights: Any, walkers: jax.Array) -> Any:
    """Of the mean energy, by the weights."""
    return jax.grad(lambda weights: jnp.mean(values(method, weights, walkers)))(weights)


PARTS = {"values": values, "gradient": gradient}


def measure(electrons: int, part: Any, walkers: int, budget: float) -> list[list[str]]:
    """A line for each way."""
    r = jax.random.normal(jax.random.key(1), (walkers, electrons, 3))
    ways = {name: partial(part, way) for name, way in WAYS.items()}
    lines = beside_first(ways, (parameters(electrons), r), 2e-3, budget)
    return [[f"{electrons}", part.__name__, *line] for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--electrons", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--walkers", type=int, default=4)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of a case; 0 for none")
    options = parser.parse_args()
    print(f"{in_words(machine())}; {options.walkers} walkers\n")
    lines = [
        line
        for electrons in options.electrons
        for part in options.parts
        for line in measure(electrons, PARTS[part], options.walkers, options.budget)
    ]
    print(Table("attention", _HEADER, lines).markdown())


if __name__ == "__main__":
    main()

"""Every measurement at its own sizes, in one table: `python -m benchmarks [--all]`."""

import argparse
import sys
from collections.abc import Sequence

from . import ansatz, biharmonic, estimates, high_order, laplacian, million, training
from .command import POINTS, Measure
from .sizes import BASE, NETWORKS, Size, dimensions
from .table import show

Measurement = tuple[Measure, Sequence[Size], int]
"""A measure, its sizes and how often each is repeated."""

SHORT: tuple[Measurement, ...] = (
    (estimates.measure, dimensions(1_000, 100_000), 20),
    (ansatz.measure, dimensions(1_000), 10),
    (laplacian.measure, dimensions(10, 50, 100), 20),
    (biharmonic.measure, dimensions(5, 10), 20),
    (high_order.measure, (BASE,), 20),
)
LONG: tuple[Measurement, ...] = (
    (estimates.measure, dimensions(1_000_000), 5),
    (training.measure, dimensions(100_000), 5),
    (million.measure, dimensions(1_000_000), 5),
    (high_order.measure, [size for size in NETWORKS.values() if size != BASE], 10),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--all", action="store_true", help="also those that need minutes and GB")
    options = parser.parse_args()
    rows = []
    for measure, sizes, repeats in SHORT + (LONG if options.all else ()):
        for size in sizes:
            print(f"{measure.__module__}, {size} …", file=sys.stderr)
            rows += measure(size, POINTS, repeats)
    show(rows)


if __name__ == "__main__":
    main()

"""Every measurement at its own dimensions, in one table: `python -m benchmarks [--all]`."""

import argparse
import sys

from . import ansatz, biharmonic, estimates, laplacian, million, training
from .command import POINTS
from .table import show

# measure, dimensions, repeats
SHORT = (
    (estimates.measure, (1_000, 100_000), 20),
    (ansatz.measure, (1_000,), 10),
    (laplacian.measure, (10, 50, 100), 20),
    (biharmonic.measure, (5, 10), 20),
)
LONG = (
    (estimates.measure, (1_000_000,), 5),
    (training.measure, (100_000,), 5),
    (million.measure, (1_000_000,), 5),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--all", action="store_true", help="also those that need minutes and GB")
    options = parser.parse_args()
    rows = []
    for measure, dims, repeats in SHORT + (LONG if options.all else ()):
        for dim in dims:
            print(f"{measure.__module__}, d = {dim:,} …", file=sys.stderr)
            rows += measure(dim, POINTS, repeats)
    show(rows)


if __name__ == "__main__":
    main()

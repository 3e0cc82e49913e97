"""The command line that all scripts share."""

import argparse
from collections.abc import Callable, Sequence

from .table import Row, show

POINTS = 100

Measure = Callable[[int, int, int], list[Row]]


def run_alone(measure: Measure, description: str | None, dims: Sequence[int], repeats: int) -> None:
    """Measures at the dimensions asked for, by default `dims`, and prints the table.

    `measure(dim, points, repeats)` gives the rows of one dimension.
    """
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--dim", type=int, nargs="+", default=list(dims))
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--repeats", type=int, default=repeats)
    options = parser.parse_args()
    rows = [row for dim in options.dim for row in measure(dim, options.points, options.repeats)]
    show(rows)

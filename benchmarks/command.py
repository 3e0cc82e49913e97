"""The command line that all scripts share."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .sizes import NETWORKS, Dimension, Network, Size
from .table import Row, show

POINTS = 100

Measure = Callable[[Any, int, int], list[Row]]


class Option(NamedTuple):
    """The option that chooses sizes: what one of its words stands for."""

    flag: str
    sizes: Callable[[str], Sequence[Size]]
    choices: Sequence[str] | None = None


def _dimension(word: str) -> tuple[Dimension]:
    return (Dimension(int(word)),)


def _networks(word: str) -> tuple[Network, ...]:
    return tuple(NETWORKS.values()) if word == "all" else (NETWORKS[word],)


BY_DIMENSION = Option("--dim", _dimension)
BY_NETWORK = Option("--sizes", _networks, (*NETWORKS, "all"))


def run_alone(
    measure: Measure,
    description: str | None,
    sizes: Sequence[Size],
    repeats: int,
    option: Option = BY_DIMENSION,
) -> None:
    """Measures at the sizes asked for, by default `sizes`, and prints the table.

    `measure(size, points, repeats)` gives the rows of one size.
    """
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument(option.flag, nargs="+", choices=option.choices, dest="words")
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--repeats", type=int, default=repeats)
    options = parser.parse_args()
    if options.words is not None:
        sizes = [size for word in options.words for size in option.sizes(word)]
    show([row for size in sizes for row in measure(size, options.points, options.repeats)])

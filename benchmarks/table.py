"""The results: one row for each ratio, joined with the goals in one Markdown table."""

import importlib.metadata
import itertools
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import jax

from .goals import goal
from .sizes import Size

_HEADER = ("case", "what", "ours", "other", "ratio", "reach", "reached?")


class Row(NamedTuple):
    """One comparison: `what` of `case` at `size`, ours and of the method `beside`."""

    case: str
    size: Size
    what: str
    beside: str
    ours: float
    other: float
    unit: str = "ms"

    @property
    def ratio(self) -> float:
        return self.ours / self.other

    @property
    def goal(self) -> float | None:
        """The ratio to reach, if one is set for this comparison at this size."""
        return goal(self.case, self.what, self.beside, self.size)


def show(rows: Sequence[Row]) -> None:
    """Prints where the rows were measured and the table."""
    print(f"{place()}\n")
    print_table(_HEADER, map(_cells, rows))


def print_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """A Markdown table."""
    for cells in itertools.chain((header, ["---"] * len(header)), lines):
        print(f"| {' | '.join(cells)} |", flush=True)


def _cells(row: Row) -> list[str]:
    digits = 2 if row.unit == "ms" else 0
    reach, reached = "", ""
    if row.goal is not None:
        reach, reached = f"≤ {row.goal:g}", "yes" if row.ratio <= row.goal else "no"
    return [
        f"{row.case}, {row.size}",
        f"{row.what} / {row.beside}",
        f"{row.ours:.{digits}f} {row.unit}",
        f"{row.other:.{digits}f} {row.unit}",
        f"{row.ratio:.3f}",
        reach,
        reached,
    ]


def place() -> str:
    """What the numbers were measured with."""
    device = jax.devices()[0].device_kind
    version = importlib.metadata.version("jax")
    return f"{device}, {os.cpu_count()} cores, float32, jax {version}"

"""The results: one row for each ratio, joined with the goals in one Markdown table."""

import importlib.metadata
import os
from collections.abc import Sequence
from typing import NamedTuple

import jax

from .goals import GOALS

_HEADER = ("case", "what", "ours", "other", "ratio", "reach", "reached?")


class Row(NamedTuple):
    """One comparison: `what` of `case` in `dim` dimensions, ours and of the method `beside`."""

    case: str
    dim: int
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
        """The ratio to reach, if one is set for this comparison at this dimension."""
        return GOALS.get((self.case, self.what), {}).get(self.dim)


def show(rows: Sequence[Row]) -> None:
    """Prints where the rows were measured and the table."""
    print(f"{_place()}\n")
    print(_line(_HEADER))
    print(_line(["---"] * len(_HEADER)))
    for row in rows:
        print(_line(_cells(row)))


def _cells(row: Row) -> list[str]:
    digits = 2 if row.unit == "ms" else 0
    reach, reached = "", ""
    if row.goal is not None:
        reach, reached = f"≤ {row.goal:g}", "yes" if row.ratio <= row.goal else "no"
    return [
        f"{row.case}, d = {row.dim:,}",
        f"{row.what} / {row.beside}",
        f"{row.ours:.{digits}f} {row.unit}",
        f"{row.other:.{digits}f} {row.unit}",
        f"{row.ratio:.3f}",
        reach,
        reached,
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _place() -> str:
    device = jax.devices()[0].device_kind
    version = importlib.metadata.version("jax")
    return f"{device}, {os.cpu_count()} cores, float32, jax {version}"

"""Tables and curves made of records."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .case import worded
from .records import Record, Records


class Table(NamedTuple):
    """A Markdown table; `name` is what pages call it by.

    Tables of the paper's own numbers are called "paper-…". `command` makes the numbers, where it is
    not that of the suite.
    """

    name: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    command: str = ""
    about: str = ""

    @property
    def is_papers(self) -> bool:
        return self.name.startswith("paper")

    def markdown(self) -> str:
        rows = [self.header, ["---"] * len(self.header), *self.lines]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _method(record: Record) -> str:
    return record.case.method


def grid(
    name: str,
    records: Records,
    column: str,
    cell: Callable[[Record], str],
    corner: str,
    row: Callable[[Record], str] = _method,
) -> Table:
    """A row for each method, or whatever `row` says, and a column for each size, as the paper's
    tables have them.
    """
    columns = sorted(records.sizes(column), key=lambda size: (isinstance(size, str), size))
    cells = {(row(each), each.case.sizes[column]): cell(each) for each in records}
    lines = [
        [label, *(cells.get((label, size), "") for size in columns)]
        for label in dict.fromkeys(map(row, records))
    ]
    return Table(name, [corner, *map(worded, columns)], lines)


def listing(name: str, records: Records, columns: Mapping[str, Callable[[Record], str]]) -> Table:
    """A line for each record; `columns` are the heads and what stands below. A column without
    anything below is left out.
    """
    lines = [[cell(record) for cell in columns.values()] for record in records]
    filled = [any(cells) for cells in zip(*lines, strict=True)] or [True] * len(columns)
    kept = [list(itertools.compress(line, filled)) for line in [list(columns), *lines]]
    return Table(name, kept[0], kept[1:])


def ratio(record: Record, digits: str = ".3g") -> str:
    """`1.5 (1.4 – 1.6)`: the median and the quartiles of the ratios of neighbours in time."""
    if "ratio" not in record.values:
        return record.text("ratio")
    first, third = (record.values[f"ratio_{quartile}"] for quartile in ("q1", "q3"))
    return f"{record.values['ratio']:{digits}} ({first:{digits}} – {third:{digits}})"


def duration(record: Record, name: str = "seconds") -> str:
    """`35.9 ms` or `4.2 s`."""
    if name not in record.values:
        return record.text(name)
    seconds = record.values[name]
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def multiple(record: Record, name: str = "seconds") -> str:
    """`2.8×`: the ratio to what it took turns with, or else the duration, `35.9 ms`. Durations of
    runs that were not taken in turns have other ratios, so no row has both.
    """
    return f"{record.values['ratio']:.3g}×" if "ratio" in record.values else duration(record, name)


def megabytes(record: Record, name: str = "peak_mb") -> str:
    return record.text(name, ",.0f") + (" MB" if name in record.values else "")


def steps_per_second(record: Record) -> str:
    return record.text("steps_per_s", ".4g")


def steps_and_memory(record: Record) -> str:
    """As the paper's tables have them."""
    return f"{steps_per_second(record)} steps/s, {megabytes(record)}"


def problem_and_method(record: Record) -> str:
    """The head of a row where a grid has several problems."""
    return f"`{record.case.sizes['problem']}`, {record.case.method}"


class Curves(NamedTuple):
    """A picture: for each label the points (x, y), on logarithmic axes."""

    name: str
    x: str
    y: str
    points: dict[str, tuple[Sequence[float], Sequence[float]]]
    floor: str | None = None
    """The label of what cannot be beaten, drawn in grey."""


def curves(
    name: str,
    records: Records,
    x: tuple[str, str],
    y: tuple[str, str],
    label: Callable[[Record], str] = _method,
    floor: str | None = None,
) -> Curves:
    """`x` and `y` are names of a size and of a value, each with the words of its axis."""
    points: dict[str, tuple[list[float], list[float]]] = {}
    for record in sorted(records.good, key=lambda record: record.case.sizes[x[0]]):
        if y[0] in record.values:
            xs, ys = points.setdefault(label(record), ([], []))
            xs.append(float(record.case.sizes[x[0]]))
            ys.append(record.values[y[0]])
    return Curves(name, x[1], y[1], dict(points), floor)


def draw(picture: Curves, path: str) -> None:
    """Writes a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for label, (xs, ys) in picture.points.items():
        if label == picture.floor:
            axis.plot(xs, ys, ":", color="grey", label=label)
        else:
            ours = {"color": "black", "linewidth": 2.5} if label == "diffop" else {}
            axis.plot(xs, ys, "o-", markersize=4, label=label, **ours)
    axis.set(xscale="log", yscale="log", xlabel=picture.x, ylabel=picture.y)
    axis.grid(alpha=0.3)
    if picture.points:
        axis.legend(fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)

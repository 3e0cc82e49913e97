"""Several runs beside each other: in a table over their seeds, and in a picture."""

import dataclasses
import pathlib
import statistics
from collections.abc import Iterable, Sequence

from .curve import save_curves
from .extras import require_train_extra
from .identity import name_of, recommended as recommended_of
from .report import Report
from .runs import RunOnDisk
from .settings import Settings

_COLUMNS = (
    "runs",
    "skill",
    "rel. L2 error",
    "mean ± std",
    "rel. L1 error",
    "null model",
    "steps/s",
)


def table(runs: Sequence[RunOnDisk]) -> str:
    """Medians and ranges over runs that differ in their seeds only, beside the null model's error.

    **Arguments:**

    - `runs`: as `find_runs` gives them. Those that have not ended are listed below the table.

    **Returns:** lines of text.
    """
    groups: dict[str, list[Report]] = {}
    for run in runs:
        if run.report is not None:
            groups.setdefault(label(run.settings), []).append(run.report)
    cells = [_COLUMNS, *map(_row, groups.values())]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in cells]
    text = [lines[0]]
    for name, line in zip(groups, lines[1:], strict=True):
        text += [name, line]
    waiting = [run for run in runs if run.report is None]
    text += [
        f"{run.path} has not ended: step {run.steps_made()} of {run.settings.steps}"
        for run in waiting
    ]
    if groups:
        text.append("median (lowest – highest); skill = error of the null model / error")
    return "\n".join(text if groups else text[1:])


def save_plot(runs: Sequence[RunOnDisk], path: pathlib.Path, overwrite: bool) -> None:
    """Draws the learning curves of runs in one picture.

    **Raises:** `FileExistsError` if the picture exists and `overwrite` is not set; `ValueError` if
    there is nothing to draw yet, or no such kind of picture.
    """
    require_train_extra()
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; name another file with --out, or say --overwrite.")
    settings = {label(run.settings) for run in runs}
    title = settings.pop() if len(settings) == 1 else f"{len(runs)} runs"
    save_curves(path, [run.curve(str(run.path)) for run in runs], title)


def label(settings: Settings) -> str:
    """A configuration in words: the problem, its size, and what is not as it recommends."""
    recommended = dataclasses.asdict(recommended_of(settings.problem))
    changed = [
        name
        for name, value in recommended.items()
        if name in ("dim", "steps") or getattr(settings, name) != value
    ]
    words = [f"{name.replace('_', '-')}={getattr(settings, name)}" for name in changed]
    return " ".join([name_of(settings.problem), *words])


def _row(reports: Sequence[Report]) -> tuple[str, ...]:
    errors = [report.rel_l2 for report in reports if report.rel_l2 is not None]
    return (
        str(len(reports)),
        _spread((report.skill for report in reports), ".3g"),
        _spread(errors, ".2e"),
        _mean(errors),
        _spread((report.rel_l1 for report in reports), ".2e"),
        _spread((report.null_rel_l2 for report in reports), ".2e"),
        _spread((report.it_per_s for report in reports), ".4g"),
    )


def _spread(known: Iterable[float | None], form: str) -> str:
    values = [value for value in known if value is not None]
    if not values:
        return "not known"
    middle = format(statistics.median(values), form)
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):{form}} – {max(values):{form}})"


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "not known"
    if len(values) == 1:
        return "one run"
    return f"{statistics.mean(values):.2e} ± {statistics.stdev(values):.1e}"

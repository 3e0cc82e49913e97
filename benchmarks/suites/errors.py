"""Errors after training: medians over seeds, the null model's errors and the skill beside them."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import diffop as do

from ..harness.case import Case, Size
from ..harness.records import Record, Records
from ..harness.suite import AbstractSuite, Values
from ..harness.table import Table, listing

_ROUNDING = 1e-12
"""Below it an error says how sums were rounded, and nothing of a method."""

_SUMMED = ("rel_l2", "null_rel_l2", "skill", "steps_per_s", "seconds", "peak_mb")
Columns = Mapping[str, Callable[[Record], str]]

MINI: dict[str, Size] = {"steps": 2, "width": 4, "batch": 4}
"""Settings of a training that a test can wait for."""


class AbstractTrained(AbstractSuite):
    """Suites of errors after training, each beside the null model's. Runs are resumed.

    - `paper`: whether what is not among the sizes is as in the paper, and not as the problem
        recommends in that dimension.
    """

    paper: ClassVar[bool] = False
    limit = 7200.0
    timed = False  # trainings are long, and may share the machine with others

    def settings(self, case: Case) -> do.train.Settings:
        """The run: what is among the sizes, and the rest."""
        sizes: dict[str, Any] = dict(case.sizes)
        return do.train.Settings.of_paper(**sizes) if self.paper else do.train.Settings(**sizes)

    def measure(self, case: Case, runs: Path) -> Values:
        report = do.train.solve(self.settings(case), run_path(runs, case), resume=True)
        measured = {
            "rel_l2": report.rel_l2,
            "null_rel_l2": report.null_rel_l2,
            "skill": report.skill,
            "steps_per_s": report.it_per_s,
            "compile_seconds": report.compile_s,
            "seconds": report.steps / report.it_per_s,
            "parameters": report.parameters,
            "peak_mb": report.peak_memory_mb,
        }
        return {name: value for name, value in measured.items() if value is not None}

    def tables(self, ours: Records, paper: Records) -> Iterator[Table]:
        yield errors_table(summaries(ours), error_columns())


def run_path(runs: Path, case: Case) -> Path:
    """Where a training is, and goes on if it was stopped."""
    problem, *rest = case.sizes.items()
    words = [str(problem[1]), *(f"{name}-{size}" for name, size in rest)]
    return runs / case.suite / "_".join(words)


def summaries(ours: Records, paper: Records = Records()) -> Records:
    """One record for all seeds: medians, with the lowest and the highest beside, and the paper's
    error under `paper` if it has one.
    """
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in ours:
        sizes = {name: size for name, size in record.case.sizes.items() if name != "seed"}
        groups.setdefault((record.case.method, *sizes.items()), []).append(record)
    return Records(_summary(Records(group), paper) for group in groups.values())


def _summary(group: Records, paper: Records) -> Record:
    first = group.good[0] if group.good else group[0]
    if not group.good:
        return first
    sizes = {name: size for name, size in first.case.sizes.items() if name != "seed"}
    seeds = ", ".join(str(record.case.sizes["seed"]) for record in group.good)
    values: dict[str, float] = {}
    for name in _SUMMED:
        found = [record.values[name] for record in group.good if name in record.values]
        if found:
            values |= {name: statistics.median(found), f"{name}_low": min(found)}
            values[f"{name}_high"] = max(found)
    printed = paper.where(**{name: sizes[name] for name in ("problem", "dim") if name in sizes})
    for name in ("rel_l2", "rel_l1"):
        if printed and name in printed[0].values:
            values["paper"] = printed[0].values[name]
    case = Case(first.case.suite, first.case.method, {**sizes, "seeds": seeds})
    return Record(case, first.outcome, values, machine=first.machine)


def error_columns(paper: bool = False) -> Columns:
    """The columns of a table of errors; `paper` adds the paper's."""
    columns = {
        "problem": lambda record: f"`{record.case.sizes['problem']}`",
        "relative L2 error": relative_error,
        "null model": lambda record: ranged(record, "null_rel_l2", ".2e"),
        "skill": skill,
        "seconds": seconds,
    }
    columns |= {"the paper's error": lambda r: _optional(r, "paper")} if paper else {}
    seeds = {"seeds": lambda record: str(record.case.sizes.get("seeds", ""))}
    return columns | seeds | {"options": options}


def errors_table(records: Records, columns: Columns) -> Table:
    """A line for each record. Seeds that are the same in all lines are said below."""
    seeds = records.sizes("seeds")
    if "seeds" not in columns or len(seeds) != 1:
        return listing("error", records, columns)
    others = {name: columns[name] for name in columns if name != "seeds"}
    word = "seeds" if "," in str(seeds[0]) else "seed"
    return listing("error", records, others)._replace(about=f"{word} {seeds[0]}")


def relative_error(record: Record) -> str:
    """The error, or that it is rounding."""
    return f"< {_ROUNDING:.0e}" if _is_rounding(record) else ranged(record, "rel_l2", ".2e")


def skill(record: Record) -> str:
    """The skill, or that of an error which is rounding at least."""
    if _is_rounding(record):
        return f"> {record.values['null_rel_l2'] / _ROUNDING:.0e}"
    return ranged(record, "skill", ".3g")


def _is_rounding(record: Record) -> bool:
    return record.values.get("rel_l2", _ROUNDING) < _ROUNDING


def seconds(record: Record) -> str:
    """Whole ones; below ten, two digits."""
    return record.text("seconds", ".0f" if record.values.get("seconds", 10) >= 10 else ".2g")


def options(record: Record) -> str:
    """As on the command line of `diffop solve`."""
    sizes = record.case.sizes
    chosen = {name: sizes[name] for name in sizes if name not in ("problem", "seeds", "seed")}
    words = " ".join(f"--{name.replace('_', '-')} {size}" for name, size in chosen.items())
    return f"`{words}`" if words else ""


def ranged(record: Record, name: str, form: str) -> str:
    """`4.8e-4 (3.3e-4 – 7.4e-4)`: the median, the lowest and the highest, if these differ."""
    if name not in record.values:
        return record.text(name)
    middle, low, high = (record.values[f"{name}{end}"] for end in ("", "_low", "_high"))
    middle = f"{middle:{form}}"
    several = "," in str(record.case.sizes.get("seeds", ""))
    lowest, highest = f"{low:{form}}", f"{high:{form}}"
    return f"{middle} ({lowest} – {highest})" if several and lowest != highest else middle


def _optional(record: Record, name: str) -> str:
    return f"{record.values[name]:.2e}" if name in record.values else ""

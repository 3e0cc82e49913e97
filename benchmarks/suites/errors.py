"""Tables of errors: medians over seeds, the null model's errors and the skill beside them."""

import statistics
from collections.abc import Callable, Mapping
from typing import Any

from ..harness.case import Case
from ..harness.records import Record, Records

_SUMMED = ("rel_l2", "null_rel_l2", "skill", "steps_per_s", "seconds")
Columns = Mapping[str, Callable[[Record], str]]


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
        "options": options,
        "seeds": lambda record: str(record.case.sizes.get("seeds", "")),
        "relative L2 error": lambda record: ranged(record, "rel_l2", ".2e"),
        "null model": lambda record: ranged(record, "null_rel_l2", ".2e"),
        "skill": lambda record: ranged(record, "skill", ".3g"),
        "seconds": lambda record: record.text("seconds", ".0f"),
    }
    return columns | ({"the paper's error": lambda r: _optional(r, "paper")} if paper else {})


def options(record: Record) -> str:
    """As on the command line of `diffop solve`."""
    sizes = record.case.sizes
    chosen = {name: sizes[name] for name in sizes if name not in ("problem", "seeds", "seed")}
    words = " ".join(f"--{name.replace('_', '-')} {size}" for name, size in chosen.items())
    return f"`{words}`" if words else ""


def ranged(record: Record, name: str, form: str) -> str:
    """`4.8e-4 (3.3e-4 – 7.4e-4)`: the median, the lowest and the highest."""
    if name not in record.values:
        return record.text(name)
    middle, low, high = (record.values[f"{name}{end}"] for end in ("", "_low", "_high"))
    middle = f"{middle:{form}}"
    several = "," in str(record.case.sizes.get("seeds", ""))
    return f"{middle} ({low:{form}} – {high:{form}})" if several else middle


def _optional(record: Record, name: str) -> str:
    return f"{record.values[name]:.2e}" if name in record.values else ""

"""All tables of result files."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .case import Scope
from .records import Records, read
from .suite import AbstractSuite
from .table import Curves, Table

PAPER = Path(__file__).parents[1] / "results" / "paper.jsonl"


class Section(NamedTuple):
    """The tables of one suite on one device."""

    suite: AbstractSuite
    records: Records
    tables: list[Table]
    pictures: list[Curves]

    def markdown(self) -> str:
        tables = (f"**{table.name}**\n\n{self.with_source(table)}" for table in self.tables)
        return "\n\n".join([f"## {self.suite.name}: {self.suite.title}", *tables])

    def with_source(self, table: Table) -> str:
        """A table, and below it where its numbers are from."""
        machines = dict.fromkeys(in_words(each.machine, self.suite) for each in self.records)
        command = table.command or f"python -m benchmarks run {self.suite.name} --level full"
        source = "; ".join(filter(None, (f"`{command}`", table.about, " and ".join(machines))))
        if table.is_papers:
            source = "The paper's, on an NVIDIA A100 with 40 GB"
        return f"{table.markdown()}\n\n{source}."


def in_words(machine: Mapping[str, object], suite: AbstractSuite | None = None) -> str:
    """`x86_64 CPU, 2 cores, jax 0.10.2, …`: what matters to the numbers of a suite."""
    words = [str(machine.get("device", "unknown device"))]
    if suite is None or suite.timed:
        cores = machine.get("cores", 1)
        words.append(f"{cores} cores" if cores != 1 else "1 core")
    packages = ("jax",) if suite is None else suite.packages
    return ", ".join(words + [f"{name} {machine[name]}" for name in packages if name in machine])


def sections(suites: Iterable[AbstractSuite], paths: Iterable[Path]) -> Iterator[Section]:
    """For each suite and device that has results."""
    records, paper = read(paths), read([PAPER])
    for suite in suites:
        found = _ordered(suite, records.of(suite.name))
        names = suite.papers or (suite.name.partition("/")[0],)
        printed = Records(each for name in names for each in paper.of(name))
        for device in dict.fromkeys(record.device for record in found):
            ours = Records(each for each in found if each.device == device)
            tables, pictures = suite.tables(ours, printed), suite.pictures(ours)
            yield Section(suite, ours, list(tables), list(pictures))


def _ordered(suite: AbstractSuite, records: Records) -> Records:
    """In the order of the suite's cases, however they were measured."""
    places: dict[object, int] = {}
    for accelerator in (True, False):
        for case in suite.cases(Scope("full", accelerator)):
            places.setdefault(case.key, len(places))
    return Records(sorted(records, key=lambda record: places.get(record.case.key, len(places))))


def by_name(found: Iterable[Section]) -> dict[str, str]:
    """The tables as pages call them: `suite/table` for the first device that has it, and
    `suite/table@device`.
    """
    tables: dict[str, str] = {}
    for section in found:
        for table in section.tables:
            name, text = f"{section.suite.name}/{table.name}", section.with_source(table)
            tables.setdefault(name, text)
            tables[f"{name}@{section.records[0].device}"] = text
    return tables

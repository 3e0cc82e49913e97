"""Result files: JSON lines, one for each measurement, after one for the machine."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .case import Case, Size

OK, OUT_OF_MEMORY, TIMEOUT, UNAVAILABLE, FAILED = (
    "ok",
    "out of memory",
    "timeout",
    "unavailable",
    "failed",
)
_IN_TABLES = {OUT_OF_MEMORY: "OOM", UNAVAILABLE: "not installed", FAILED: "failed"}


class Record(NamedTuple):
    """What came out of a case.

    - `outcome`: "ok", or why there are no values; that is a result too.
    - `reason`: more of it, in words.
    - `values`: numbers by name.
    - `machine`: where it was measured.
    """

    case: Case
    outcome: str
    values: Mapping[str, float]
    reason: str = ""
    machine: Mapping[str, Any] = {}

    @property
    def device(self) -> str:
        return str(self.machine.get("device", "unknown device"))

    def text(self, name: str, form: str = ".3g") -> str:
        """A value for a table; the outcome where there is none."""
        if self.outcome == TIMEOUT:
            return f"> {self.reason}"
        if self.outcome != OK:
            return _IN_TABLES[self.outcome]
        return format(self.values[name], form) if name in self.values else ""


class Records(tuple[Record, ...]):
    """Records, to choose from."""

    def of(self, suite: str) -> "Records":
        return Records(record for record in self if record.case.suite == suite)

    def where(self, method: str | None = None, /, **sizes: Size) -> "Records":
        """Those of a method and with these sizes, whatever other sizes they have."""
        return Records(
            record
            for record in self
            if method in (None, record.case.method)
            and all(record.case.sizes.get(name) == size for name, size in sizes.items())
        )

    def one(self, method: str, /, **sizes: Size) -> Record | None:
        """The last one."""
        found = self.where(method, **sizes)
        return found[-1] if found else None

    def sizes(self, name: str) -> list[Any]:
        """All that occur, in the order of their first occurrence."""
        found = (record.case.sizes[name] for record in self if name in record.case.sizes)
        return list(dict.fromkeys(found))

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(record.case.method for record in self))

    @property
    def good(self) -> "Records":
        return Records(record for record in self if record.outcome == OK)


def read(paths: Iterable[Path]) -> Records:
    """All records of some files; of a case that was measured again on a device, the last one.

    **Raises:** `ValueError` naming a line that is not a record.
    """
    found: dict[tuple[object, ...], Record] = {}
    for path in paths:
        for record in _records(path):
            found[record.device, *record.case.key] = record
    return Records(found.values())


def _records(path: Path) -> Iterator[Record]:
    machine: Mapping[str, Any] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            entry = json.loads(line)
            if "machine" in entry:
                machine = entry["machine"]
                continue
            case = Case(entry["suite"], entry["method"], entry["sizes"])
            yield Record(case, entry["outcome"], entry["values"], entry.get("reason", ""), machine)
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(
                f"line {number} of {path} is not a measurement ({error!r}); it may have been cut "
                f"off: remove it, and measure again."
            ) from None


def append(path: Path, entry: Mapping[str, Any]) -> None:
    """One line more, written as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def append_record(path: Path, record: Record) -> None:
    entry = {
        "suite": record.case.suite,
        "method": record.case.method,
        "sizes": dict(record.case.sizes),
        "outcome": record.outcome,
        "values": {name: _short(value) for name, value in record.values.items()},
    }
    append(path, entry | ({"reason": record.reason} if record.reason else {}))


def _short(value: float) -> float:
    """Six digits: more are not measured."""
    return value if isinstance(value, int) else float(f"{value:.6g}")

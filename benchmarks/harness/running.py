"""Measuring cases one after the other, each in a process of its own, into a result file."""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .case import Case
from .process import in_own_process
from .records import (
    FAILED,
    OK,
    OUT_OF_MEMORY,
    TIMEOUT,
    UNAVAILABLE,
    Record,
    append,
    append_record,
    read,
)
from .suite import AbstractSuite, Values

Measure = Callable[[Case, Path], Values]


def run(
    suites: Iterable[AbstractSuite],
    cases: Callable[[AbstractSuite], Iterable[Case]],
    measure: Measure,
    machine: Mapping[str, Any],
    out: Path,
    runs: Path,
    limit: float | None = None,
    again: bool = False,
) -> None:
    """Adds to `out` what is not in it yet.

    **Arguments:**

    - `suites`, `cases`: what to measure.
    - `measure`: called with a case and `runs`, in a process of its own.
    - `machine`: the head of what is added.
    - `out`: a result file, made if there is none; what another device measured does not count.
    - `runs`: a directory for trainings, which go on where they were stopped.
    - `limit`: seconds for each case, in place of the suites' own.
    - `again`: also those cases that had no numbers before.
    """
    known = read([out]) if out.exists() else ()
    here = [record for record in known if record.device == machine["device"]]
    done = {record.case.key for record in here if record.outcome == OK or not again}
    headed = False
    for suite in suites:
        for case in cases(suite):
            if case.key in done:
                continue
            if not headed:
                append(out, {"machine": dict(machine)})
                headed = True
            print(f"{case} …", file=sys.stderr, flush=True)
            record = measured(case, measure, runs, suite.limit if limit is None else limit)
            append_record(out, record)
            print(f"    {_said(record)}", file=sys.stderr, flush=True)


def measured(case: Case, measure: Measure, runs: Path, limit: float) -> Record:
    """One case; what cannot be measured is a result as well."""
    try:
        return Record(case, OK, in_own_process(measure, case, runs, limit=limit))
    except TimeoutError:
        return Record(case, TIMEOUT, {}, f"{limit:g} s")
    except MemoryError as error:
        return Record(case, OUT_OF_MEMORY, {}, str(error))
    except ImportError as error:
        return Record(case, UNAVAILABLE, {}, str(error))
    except RuntimeError as error:
        return Record(case, FAILED, {}, str(error))


def _said(record: Record) -> str:
    values = ", ".join(f"{name} {value:.4g}" for name, value in list(record.values.items())[:6])
    return values if record.outcome == OK else f"{record.outcome}: {record.reason}"

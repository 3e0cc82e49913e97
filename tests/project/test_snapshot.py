"""Programs do not grow: their equations, flops and bytes, beside the committed record."""

import json
import subprocess
import sys

import jax
import pytest

from benchmarks import snapshot
from benchmarks.subjects.programs import PROGRAMS

from .pages import DOCS


@pytest.mark.slow("traces and compiles all programs of the record")
def test_no_program_has_grown():
    """In a process of its own, on one device, as users have it."""
    command = [sys.executable, "-m", "benchmarks.snapshot"]
    done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_record_has_all_programs():
    record = json.loads(snapshot.RECORD.read_text("utf-8"))
    assert record["programs"].keys() == PROGRAMS.keys()
    assert len(PROGRAMS) >= 60


def numbers(**changed):
    same = {"equations": {"mul": 100}, "flops_written": 1e6, "bytes_written": 1e6}
    return {**same, "flops": 1e6, "bytes": 1e6, "temporary": 10**6, **changed}


@pytest.mark.parametrize(
    ("changed", "same", "found"),
    [
        ({"flops": 1.02e6}, True, 0),
        ({"flops": 1.04e6}, True, 1),
        ({"flops": 1.04e6}, False, 0),
        ({"flops_written": 1.04e6}, False, 1),
        ({"equations": {"mul": 90, "add": 14}}, False, 1),
        ({"temporary": 2 * 10**6, "bytes": 2e6}, True, 2),
        ({"flops": 0.5e6, "temporary": 0}, True, 0),
    ],
)
def test_what_counts_as_larger(changed, same, found):
    assert len(snapshot.larger(numbers(), numbers(**changed), same)) == found


def test_small_arrays_in_between_do_not_count():
    few = numbers(temporary=100), numbers(temporary=2000)
    assert not snapshot.larger(*few, same=True)


@pytest.mark.parametrize(
    ("flops", "code", "line"),
    [
        (1e6, 0, "smaller: p: flops 2,000,000 → 1,000,000 (0.50×)"),
        (3e6, 1, "LARGER: p: flops 2,000,000 → 3,000,000 (1.50×)"),
    ],
)
def test_what_is_printed(flops, code, line, tmp_path, monkeypatch, capsys):
    """From before to after, whichever is larger."""
    record = {"processor": snapshot.processor(), "jax": jax.__version__}
    record["programs"] = {"p": numbers(flops=2e6)}
    monkeypatch.setattr(snapshot, "RECORD", tmp_path / "record.json")
    snapshot.RECORD.write_text(json.dumps(record), "utf-8")
    monkeypatch.setattr(snapshot, "PROGRAMS", {"p": tuple})
    now = snapshot.Measured(**numbers(flops=flops), trace=None)
    monkeypatch.setattr(snapshot, "measured", lambda timed, by_xla: now)
    assert snapshot.main([]) == code
    assert line in capsys.readouterr().out.splitlines()

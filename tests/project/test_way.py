"""The engine is to be read in an evening: the way to it does not grow longer."""

import subprocess
import sys

from .pages import DOCS

CALLS, FILES = 240, 38


def test_the_way_to_the_first_equation_is_no_longer_than_it_was():
    """In a process of its own, in which no types are checked."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.project.way"],
        cwd=DOCS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    calls, _, _, files, *_ = done.stdout.split()
    assert int(calls) <= CALLS, done.stdout
    assert int(files) <= FILES, done.stdout

"""The engine is to be read in an evening: there is not more of it than there was."""

import subprocess
import sys

import pytest

from .pages import DOCS

MOST = {
    "code lines": 8_371,
    "functions on the way": 116,
    "files on the way": 35,
    "isinstance of kinds": 124,
    "fields of coefficients": 26,
    "primitives": 1,
}
"""What these numbers may be; they only go down."""


@pytest.fixture(scope="module")
def measures():
    """In a process of its own, in which no types are checked."""
    command = [sys.executable, "-m", "tests.project.measures"]
    done = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True, check=True)
    pairs = (line.split(None, 1) for line in done.stdout.splitlines())
    return {name: int(number.replace(",", "")) for number, name in pairs}


@pytest.mark.parametrize("name", MOST)
def test_there_is_not_more_to_read(name, measures):
    """Two hundredths below the most, the most is to be set down."""
    assert 0.98 * MOST[name] <= measures[name] <= MOST[name], measures


def test_everything_that_is_measured_is_held(measures):
    assert measures.keys() == MOST.keys()

"""What a run notes on its way."""

import types
from typing import Any

import numpy as np
import pytest

from diffop.train import report
from diffop.train.evaluate import Errors
from diffop.train.iteration import State
from diffop.train.report import Progress


@pytest.mark.parametrize(("seconds", "least", "most"), [(0.001, 50, 51), (5.0, 19, 22)])
def test_errors_take_at_most_a_tenth_of_the_time(seconds, least, most, monkeypatch):
    """A step takes a second; the first time that errors are measured is mostly compiling."""
    clock = types.SimpleNamespace(now=0.0, spent=[])
    monkeypatch.setattr(report.time, "monotonic", lambda: clock.now)

    class Points:
        def errors(self, u, fraction):
            duration = seconds if clock.spent else 60.0
            clock.now += duration
            clock.spent.append(duration)
            return Errors(0.0, 0.0)

    steps = 850
    points: Any = Points()
    with Progress(points, steps, []) as noted:
        for step in range(1, steps + 1):
            clock.now += 1.0
            noted(State(step, None, None, np.ones(step), 0.0, 0.0))
    assert least <= len(noted.errors) <= most
    assert noted.errors[0][0] == 1 and noted.errors[-1][0] == steps
    # all but those of the last step, which are always measured
    assert sum(clock.spent[1:-1]) <= 0.1 * (clock.now - clock.spent[0])

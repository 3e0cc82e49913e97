"""What a run notes on its way."""

import time

import jax
import numpy as np
import pytest

import diffop as do
from diffop.runs.evaluate import Errors
from diffop.train.checkpoints import Saved
from diffop.train.iteration import State
from diffop.train.progress import Progress


@pytest.mark.parametrize(("seconds", "least", "most"), [(0.001, 50, 51), (5.0, 19, 24)])
def test_errors_take_at_most_a_tenth_of_the_time(seconds, least, most, monkeypatch):
    """A step takes a second; the first time that errors are measured is mostly compiling."""
    problem = do.pde.ManyBody("poisson", 2, 3, key=jax.random.key(0))
    points = do.train.FixedPoints(problem, jax.random.key(1), 2)
    now, spent = 0.0, []

    def errors(u, fraction):
        nonlocal now
        spent.append(seconds if spent else 60.0)
        now += spent[-1]
        return Errors(0.0, 0.0)

    monkeypatch.setattr(points, "errors", errors)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    steps = 850
    start = Saved(State(0, None, None, np.ones(0), 0.0, 0.0), {})
    noted = Progress(steps, [], start, points=points)

    def states():
        nonlocal now
        for step in range(1, steps + 1):
            now += 1.0
            yield State(step, None, None, np.ones(step), 0.0, 0.0)

    assert noted.through(states(), None).step == steps
    assert least <= len(noted.errors) <= most
    assert noted.errors[0][0] == 1 and noted.errors[-1][0] == steps
    # one may begin just before there is no more time for it
    assert sum(spent[1:-1]) <= 0.1 * now + seconds

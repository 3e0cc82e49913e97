"""Seconds of programs that are measured side by side."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

FEWEST, MOST = 3, 20
"""Turns: of fewer there are no quartiles, and more are not needed."""


def interleaved(calls: Sequence[Callable[[], Any]], budget: float) -> np.ndarray:
    """The seconds of each call, as a column, after a first one that is not counted.

    The calls take turns, so that the machine's moods are shared and their ratios mean something. At
    its turn a call runs once before it is timed: as in a training loop it then finds its own arrays
    in the caches and its own memory with the allocator, not those of another method. Calls so long
    that this would not fit are timed at once; what they find does not matter to them.

    There are as many turns as fit in `budget` seconds, from 3 to 20.
    """
    once = sum(_seconds(call) for call in calls)  # the first run, which may still have to allocate
    long = once > budget / 5
    if not long:
        once = sum(_seconds(call) for call in calls)
    turns = FEWEST if long else int(np.clip(budget / (2 * once), FEWEST, MOST))
    seconds = np.empty((turns, len(calls)))
    for row in seconds:
        for column, call in enumerate(calls):
            if not long:
                jax.block_until_ready(call())
            row[column] = _seconds(call)
    return seconds


def _seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - started


def spread(name: str, values: np.ndarray) -> dict[str, float]:
    """The median and the quartiles, under `name`, `name`_q1 and `name`_q3."""
    first, middle, third = np.percentile(values, [25, 50, 75]).tolist()
    return {name: middle, f"{name}_q1": first, f"{name}_q3": third}

"""Seconds of programs that are measured side by side."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np


def interleaved_medians(calls: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """The median seconds of each call, after a first one that is not counted.

    The calls take turns, so that the machine's moods are shared and their ratios mean something. At
    its turn a call runs once before it is timed: as in a training loop it then finds its own arrays
    in the caches and its own memory with the allocator, not those of another method.
    """
    for call in calls:
        jax.block_until_ready(call())
    seconds = np.empty((repeats, len(calls)))
    for row in seconds:
        for column, call in enumerate(calls):
            jax.block_until_ready(call())
            started = time.perf_counter()
            jax.block_until_ready(call())
            row[column] = time.perf_counter() - started
    return np.median(seconds, axis=0).tolist()

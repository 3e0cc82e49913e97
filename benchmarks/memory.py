"""Peak memory: of a process of its own, since a process never forgets its peak."""

import multiprocessing
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def in_own_process(function: Callable[..., T], *args: Any) -> T:
    """The result of a function of a module, called in a fresh Python process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(function, *args).result()


def peak_resident_mb() -> float:
    """The most memory that this process has held so far, in 10⁶ bytes."""
    # On Linux getrusage of a child begins at the peak of its parent; the status file does not.
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6

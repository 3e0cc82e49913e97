"""Peak memory of this process, which never forgets its peak: measure in one of its own."""

import resource
import sys
from pathlib import Path

import jax


def peak_mb() -> float:
    """The most memory held so far, in 10⁶ bytes: the accelerator's if there is one, else of the
    process, Python and JAX (about 300) included.
    """
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in statistics:
        return statistics["peak_bytes_in_use"] / 1e6
    # On Linux getrusage of a child begins at the peak of its parent; the status file does not.
    peak = _kibibytes("/proc/self/status", "VmHWM:")
    if peak is not None:
        return peak * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def available_mb() -> float:
    """The memory that can still be had, in 10⁶ bytes; infinite where it is not told."""
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "bytes_limit" in statistics:
        return (statistics["bytes_limit"] - statistics.get("bytes_in_use", 0)) / 1e6
    free = _kibibytes("/proc/meminfo", "MemAvailable:")
    return float("inf") if free is None else free * 1024 / 1e6


def _kibibytes(path: str, name: str) -> int | None:
    """A line of a file of Linux's, if there is one."""
    file = Path(path)
    for line in file.read_text().splitlines() if file.exists() else ():
        if line.startswith(name):
            return int(line.split()[1])
    return None

"""How much memory a run needed at its peak."""

import resource
import sys

import jax


def peak_memory_mb() -> float:
    """The peak so far in 10⁶ bytes: the accelerator's if there is one, else the process's."""
    statistics = jax.devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in statistics:
        return statistics["peak_bytes_in_use"] / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6

"""How much memory a run needed at its peak."""

import sys

import jax

try:
    import resource
except ImportError:  # Windows
    resource = None


def peak_memory_mb() -> float:
    """The peak so far in 10⁶ bytes: the accelerator's if there is one, else the process's. Of
    several accelerators it is that of the process's first.

    0 where the system does not tell.
    """
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in statistics:
        return statistics["peak_bytes_in_use"] / 1e6
    if resource is None:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6

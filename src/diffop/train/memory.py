"""How much memory there is, and how much was used."""

import os
import sys

import jax

try:
    import resource
except ImportError:  # Windows
    resource = None


def peak_memory_mb() -> float:
    """The peak so far in 10⁶ bytes: that of the accelerator if there is one (the first, if there
    are several), otherwise that of the process.

    0 if the system does not tell.
    """
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in statistics:
        return statistics["peak_bytes_in_use"] / 1e6
    if resource is None:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def memory_bytes() -> int | None:
    """The memory for the arrays of this process: of all its accelerators together if there are any,
    otherwise of the machine; None if the system does not tell.
    """
    statistics = [device.memory_stats() or {} for device in jax.local_devices()]
    limits = [each["bytes_limit"] for each in statistics if "bytes_limit" in each]
    if limits:
        return sum(limits)
    names = ("SC_PHYS_PAGES", "SC_PAGE_SIZE")
    if not set(names) <= set(getattr(os, "sysconf_names", ())):
        return None
    return os.sysconf(names[0]) * os.sysconf(names[1])

"""How much memory there is, and how much was used."""

import os
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


def memory_bytes() -> int | None:
    """How much there is for the arrays of this process: of its accelerators together if there are
    any, else of the machine; None where the system does not tell.
    """
    statistics = [device.memory_stats() or {} for device in jax.local_devices()]
    limits = [each["bytes_limit"] for each in statistics if "bytes_limit" in each]
    if limits:
        return sum(limits)
    names = ("SC_PHYS_PAGES", "SC_PAGE_SIZE")
    if not set(names) <= set(getattr(os, "sysconf_names", ())):
        return None
    return os.sysconf(names[0]) * os.sysconf(names[1])

"""The devices on which a program runs: only this file asks about them."""

import os
from typing import Any

import jax

from ..devices import is_on_mesh


def on_lone_cpu(*arrays: Any) -> bool:
    """Whether the program runs on a lone CPU, where points may go through one after another, and
    long arrays in blocks. Several devices, and other kinds, take everything at once.
    """
    if jax.default_backend() != "cpu" or jax.device_count() > 1:
        return False
    return not any(map(is_on_mesh, arrays))


def memory() -> int:
    """Bytes of memory of the device that runs the program."""
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "bytes_limit" in statistics:
        return statistics["bytes_limit"]
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # the system does not tell
        return 16 * 2**30

"""Memory in large pages for large arrays, on Linux.

The GNU C library maps an array above 32 MiB anew each time one is made, and unmaps it afterwards.
So the system makes its pages of 4 KiB again in every step, which may take most of the step's time.
With pages of 2 MiB it takes little. The library asks for them where a variable says so, which it
reads when the process starts.
"""

import os
import sys
from collections.abc import Mapping

from .settings import Settings

_VARIABLE, _TUNABLE = "GLIBC_TUNABLES", "glibc.malloc.hugetlb"
_MAPPED = 32 * 2**20  # bytes from which on arrays are mapped anew: DEFAULT_MMAP_THRESHOLD_MAX
_NUMBER = 4  # bytes


def wanted(settings: Settings, environment: Mapping[str, str]) -> dict[str, str] | None:
    """The environment of a process whose arrays of points are in large pages; None if they are too
    small for that to matter, if the environment says anything about large pages, or if the system
    is not Linux.
    """
    small = _NUMBER * settings.batch * settings.dim < _MAPPED
    tunables = environment.get(_VARIABLE, "")
    if small or _TUNABLE in tunables or sys.platform != "linux":
        return None
    return dict(environment) | {_VARIABLE: ":".join(filter(None, (tunables, f"{_TUNABLE}=1")))}


def restart(environment: Mapping[str, str]) -> None:
    """Begins this process again, by the same command, in another environment."""
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)

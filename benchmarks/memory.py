"""Peak memory: of a process of its own, since a process never forgets its peak."""

import multiprocessing
import resource
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def in_own_process(function: Callable[..., T], *args: Any, limit: float | None = None) -> T:
    """The result of a function of a module, called in a fresh Python process.

    Raises what the function raises, `TimeoutError` if there is no result after `limit` seconds, and
    `MemoryError` if the process was killed, as systems do that are out of memory.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, function, args))
    process.start()
    sender.close()  # so that the other end of a process that dies is the last one
    try:
        if not receiver.poll(limit):
            raise TimeoutError(f"no result after {limit:.0f} s")
        succeeded, outcome = receiver.recv()
    except EOFError:
        process.join()
        raise MemoryError(f"the process died with exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    if not succeeded:
        raise outcome
    return outcome


def _send(sender: Connection, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        sender.send((True, function(*args)))
    except Exception as error:
        sender.send((False, error))


def peak_resident_mb() -> float:
    """The most memory that this process has held so far, in 10⁶ bytes."""
    # On Linux getrusage of a child begins at the peak of its parent; the status file does not.
    peak = _kibibytes("/proc/self/status", "VmHWM:")
    if peak is None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak * (1 if sys.platform == "darwin" else 1024) / 1e6
    return peak * 1024 / 1e6


def available_mb() -> float:
    """The memory that the system can still give, in 10⁶ bytes; infinite where it is not told."""
    free = _kibibytes("/proc/meminfo", "MemAvailable:")
    return float("inf") if free is None else free * 1024 / 1e6


def _kibibytes(path: str, name: str) -> int | None:
    """A line of a file of Linux's, if there is one."""
    file = Path(path)
    for line in file.read_text().splitlines() if file.exists() else ():
        if line.startswith(name):
            return int(line.split()[1])
    return None

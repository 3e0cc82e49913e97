"""Functions called in processes of their own."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def in_own_process(function: Callable[..., T], *args: Any, limit: float | None = None) -> T:
    """The result of a function of a module, called in a fresh Python process.

    **Raises:** what the function raises; `TimeoutError` if there is no result after `limit`
    seconds; `MemoryError` if the process was killed, as systems do that are out of memory;
    `RuntimeError` if it died otherwise.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, function, args))
    process.start()
    sender.close()  # so that the other end of a process that dies is the last one
    try:
        if not receiver.poll(limit):
            raise TimeoutError(f"no result after {limit:g} s")
        succeeded, outcome = receiver.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGKILL:
            raise MemoryError("the system ended the process") from None
        raise RuntimeError(f"the process died with exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    if not succeeded:
        raise outcome
    return outcome


def _send(sender: Connection, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    _be_killed_first()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sender.send((True, function(*args)))
    except Exception as error:
        sender.send((False, _plain(error)))


def _be_killed_first() -> None:
    """If memory runs out, Linux is to end this process, and not the one that waits for it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _end_with_parent() -> None:
    """A process that nobody waits for any more would disturb those that are measured next."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _plain(error: Exception) -> Exception:
    """An error that can be sent: XLA's cannot all be pickled, and tells of memory by its text."""
    text = str(error)
    if "RESOURCE_EXHAUSTED" in text or isinstance(error, MemoryError):
        return MemoryError(text.splitlines()[0])
    if isinstance(error, ImportError):
        return ImportError(text)
    return RuntimeError(f"{type(error).__name__}: {text}")

"""Stopping a run by a signal: after the running dispatch, or at once."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, final

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@final
class Interrupted(KeyboardInterrupt):
    """A run was stopped by a signal, between two dispatches.

    - `signal`: its number, `signal.SIGINT` (Ctrl-C) or `signal.SIGTERM`.
    """

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.signal = number


@final
class Stop:
    """Notes SIGINT and SIGTERM while it is open: the run is to look at `signal` now and then.

    The interpreter runs signal handlers between two of its instructions, so not while it waits for
    a program that runs or is being compiled. But it writes the signal's number into a socket at
    once, and a thread reads it there: it says what will happen, and ends the process at the second
    Ctrl-C.

    Signals are left alone outside the main thread, where handlers cannot be set.

    **Arguments:**

    - `tell`: called with a sentence when the first signal arrives.
    """

    def __init__(self, tell: Callable[[str], None]):
        self.signal: int | None = None
        self._tell = tell
        self._before: dict[int, Any] = {}
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            self._reader, self._writer = socket.socketpair()
            self._writer.setblocking(False)
            self._before_fd = signal.set_wakeup_fd(self._writer.fileno())
            # what is ignored, as Ctrl-C by a shell's background jobs, stays so
            heard = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
            self._before = {each: signal.signal(each, lambda *_: None) for each in heard}
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            for number, handler in self._before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(self._before_fd)
            self._writer.close()  # the thread reads its end, and ends
            self._thread.join()
            self._reader.close()

    def _watch(self) -> None:
        while read := self._reader.recv(1):
            if read[0] in self._before:
                self._note(read[0])

    def _note(self, number: int) -> None:
        if self.signal is None:
            self.signal = number
            name = signal.Signals(number).name
            self._tell(f"{name}: stopping after the running steps; Ctrl-C stops at once.")
        elif number == signal.SIGINT:
            os._exit(128 + number)

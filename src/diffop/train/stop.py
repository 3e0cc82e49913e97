"""Stopping a run by a signal: after the running dispatch, or at once."""

import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, final

from .processes import gathered

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

    Ctrl-C after that raises `KeyboardInterrupt`, at once where the run waits by `interruptible`.

    What will happen is said by a thread, which reads the signal's number from a socket that the
    interpreter writes it into: a handler may have interrupted another sentence.

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
            self._before = {each: signal.signal(each, self._note) for each in heard}
            self._thread = threading.Thread(target=self._say, daemon=True)
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

    def everywhere(self) -> int | None:
        """The signal that this process or any other one was sent; the same in all."""
        return max(gathered(self.signal or 0)) or None

    def _note(self, number: int, _: object) -> None:
        if self.signal is None:
            self.signal = number
        elif number == signal.SIGINT:
            raise KeyboardInterrupt

    def _say(self) -> None:
        told = False
        while read := self._reader.recv(1):
            if read[0] in self._before and not told:
                told = True
                name = signal.Signals(read[0]).name
                self._tell(f"{name}: stopping after the running steps; Ctrl-C stops at once.")

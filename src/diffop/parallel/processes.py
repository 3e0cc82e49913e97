"""Several processes that train together, and the signals that stop them.

Each runs the same program on its part of the arrays, so all have to decide alike when to write a
checkpoint and whether to stop. The first process writes files and reports progress.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NoReturn, TypeVar, final

import jax
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import Array, PyTree

_T = TypeVar("_T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHUTDOWN = 30  # seconds that a process which has ended waits for the others
_LAST = 10  # seconds after which the first process leaves once another is known to be lost

_UNHEARD = 1.0  # seconds after which a Ctrl-C that has ended nothing is sent again

_BLOCK = 2**26
"""How many numbers are copied to all devices at a time."""


def is_first() -> bool:
    """Whether this process writes files and reports progress."""
    return jax.process_index() == 0


def gathered_from_processes(number: int) -> list[int]:
    """The numbers of all processes, in all of them."""
    if jax.process_count() == 1:
        return [number]
    return np.ravel(multihost_utils.process_allgather(np.int32(number))).tolist()


def by_first(action: Callable[[], int | None]) -> int:
    """The number that an action of the first process returns, in all processes, when it is done; 0
    if it returns none.

    **Raises:** in the first process what the action raises, and then `OSError` in the others.
    """
    results: list[int | None] = []
    succeeded_everywhere(lambda: results.append(action() if is_first() else None))
    return gathered_from_processes(results[0] or 0)[0]


def succeeded_everywhere(action: Callable[[], object]) -> None:
    """Runs an action in every process, and returns when all have finished.

    **Raises:** what the action raises; `OSError` if it failed in another process only.
    """
    error = None
    try:
        action()
    except Exception as raised:
        error = raised
    failed = [
        process for process, flag in enumerate(gathered_from_processes(error is not None)) if flag
    ]
    if error is not None:
        raise error
    if failed:
        raise OSError(f"process {failed[0]} failed; its message says why")


def on_host(tree: PyTree) -> PyTree:
    """Arrays on several devices as arrays in memory: whole in the first process, and empty
    elsewhere. All processes have to call this.
    """
    return jax.tree.map(lambda leaf: _on_host(leaf) if isinstance(leaf, jax.Array) else leaf, tree)


def _on_host(array: Array) -> Array | np.ndarray:
    if len(array.sharding.device_set) == 1:
        return array
    if array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    # in pieces, so that no device needs room for all of it
    whole = np.zeros(array.shape, array.dtype)
    axis = int(np.argmax(array.shape))
    length = array.shape[axis]
    size = max(1, length * _BLOCK // array.size)
    for start in range(0, length, size):
        piece = jax.lax.slice_in_dim(array, start, min(start + size, length), axis=axis)
        values = multihost_utils.process_allgather(piece, tiled=True)
        if is_first():
            whole[(slice(None),) * axis + (slice(start, start + size),)] = values
    return whole


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
    """Records SIGINT and SIGTERM while it is open: the run looks at `signal` from time to time.

    A second Ctrl-C raises `KeyboardInterrupt`, at once if the run waits by `interruptible`.

    A thread prints what will happen. It reads the signal's number from a socket into which the
    interpreter writes it, since a handler might interrupt another sentence.

    The `KeyboardInterrupt` of a handler can be lost. The interpreter ignores errors raised in
    `__del__` and in callbacks of weak references and of the garbage collector; JAX has such a
    callback. Functions of its interface in C, such as `PyDict_GetItem`, ignore them as well. And
    two signals that come before the handler has run are one. So the thread sends the second Ctrl-C
    again until it has ended the run.

    Signals are left alone outside the main thread, where handlers cannot be set.

    **Arguments:**

    - `tell`: called with a sentence when the first signal arrives.
    """

    def __init__(self, tell: Callable[[str], None]):
        self.signal: int | None = None
        self._tell = tell
        self._before: dict[int, Any] = {}
        self._thread: threading.Thread | None = None
        self._leaving = False

    def __enter__(self) -> "Stop":
        if threading.current_thread() is threading.main_thread():
            self._reader, self._writer = socket.socketpair()
            self._writer.setblocking(False)
            self._before_fd = signal.set_wakeup_fd(self._writer.fileno())
            # a signal that is ignored, as Ctrl-C by a shell's background jobs, stays ignored
            heard = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
            self._before = {each: signal.signal(each, self._note) for each in heard}
            self._thread = threading.Thread(target=self._say, daemon=True)
            self._thread.start()
            self._hook_before = sys.unraisablehook
            sys.unraisablehook = self._without_a_word
        return self

    def __exit__(self, *_: object) -> None:
        self._leaving = True
        if self._thread is not None:
            signal.set_wakeup_fd(self._before_fd)
            self._writer.close()  # the thread reads its end, and ends
            self._thread.join()
            self._reader.close()
            for number, handler in self._before.items():
                signal.signal(number, handler)
            sys.unraisablehook = self._hook_before

    def everywhere(self) -> int | None:
        """The signal that any of the processes received; the same in all."""
        return max(gathered_from_processes(self.signal or 0)) or None

    def _note(self, number: int, _: object) -> None:
        if self.signal is None:
            self.signal = number
        elif number == signal.SIGINT and not self._leaving:
            raise KeyboardInterrupt

    def _without_a_word(self, raised: "sys.UnraisableHookArgs") -> None:
        """Called with an error that was raised and ignored, instead of printing it."""
        if raised.exc_type is not KeyboardInterrupt:
            self._hook_before(raised)

    def _say(self) -> None:
        told = False
        while read := self._next():
            if read[0] not in self._before:
                continue
            if told and read[0] == signal.SIGINT:
                self._reader.settimeout(_UNHEARD)
            if not told:
                told = True
                name = signal.Signals(read[0]).name
                self._tell(f"{name}: stopping after the running steps; Ctrl-C stops at once.")

    def _next(self) -> bytes:
        """The number of the next signal, or nothing at the end."""
        while True:
            try:
                return self._reader.recv(1)
            except TimeoutError:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def interruptible(action: Callable[..., _T], *arguments: object) -> _T:
    """Runs an action and returns its result, while signal handlers can raise.

    The interpreter runs handlers in the main thread, between two of its instructions, but not while
    that thread is in a compiler or waits for a device. So the action runs in another thread. If a
    handler raises, that thread ends alone, and the process waits for it before it ends.
    """
    if threading.current_thread() is not threading.main_thread():
        return action(*arguments)
    result: Future[_T] = Future()

    def act() -> None:
        try:
            result.set_result(action(*arguments))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=act).start()
    return result.result()


def connect(coordinator: str | None, processes: int | None, process: int | None) -> None:
    """Connects this process with the others. Call it before JAX is used.

    The coordinator is the address and the port of the first process, whose number is 0. Values that
    are not given come from the cluster (SLURM, Open MPI, Kubernetes, Cloud TPU).

    **Raises:** `ValueError` if something is missing or makes no sense; `ConnectionError` if the
    others cannot be reached.
    """
    given = [value is not None for value in (coordinator, processes, process)]
    if any(given) and not all(given):
        raise ValueError(
            "distributed expects --coordinator HOST:PORT, --processes N and --process K together, "
            "or none of them on a cluster that tells its processes."
        )
    if coordinator is not None:
        _check_place(coordinator, processes or 0, -1 if process is None else process)
    # signals are noted and agreed on by the run itself
    jax.config.update("jax_enable_preemption_service", False)
    try:
        jax.distributed.initialize(
            coordinator, processes, process, shutdown_timeout_seconds=_SHUTDOWN
        )
    except ValueError:
        raise ValueError(
            "distributed finds no cluster that tells this process about the others; say "
            "--coordinator HOST:PORT --processes N --process K in each of them."
        ) from None
    except RuntimeError as error:
        raise ConnectionError(f"the other processes could not be reached: {error}") from None


def leave(code: int) -> NoReturn:
    """Ends this process with an exit code, when another process is lost.

    A process that ends normally waits for all others. If one does not come, the runtime aborts it,
    with its stack. When the first process has gone, the runtime aborts all that are left, so it
    stays until they have printed their messages.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if jax.process_index() == 0 and jax.process_count() > 2:
        time.sleep(_LAST)
    os._exit(code)


def _check_place(coordinator: str, processes: int, process: int) -> None:
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"coordinator must be HOST:PORT, got {coordinator!r}.")
    if not 0 <= process < processes:
        raise ValueError(
            f"process must be one of 0 to {processes - 1}, the number of processes being "
            f"{processes}, got {process}."
        )

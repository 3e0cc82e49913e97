"""Waiting for XLA so that Ctrl-C is heard."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def interruptible(action: Callable[..., _T], *arguments: object) -> _T:
    """What an action returns, where a handler of signals can raise while it is waited for.

    The interpreter runs handlers in the main thread, between two of its instructions: not while
    that thread is in a compiler or waits for a device. So another thread is there. If a handler
    raises, that one is left to end alone, and the process waits for it before it ends.
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

"""What a measurement may come to. Each runs in a process of its own, which imports this file."""

import os
import signal
import time


def killed(case, runs):
    os.kill(os.getpid(), signal.SIGKILL)


def slow(case, runs):
    time.sleep(600)


def without_module(case, runs):
    import not_there  # pyright: ignore  # noqa: F401


def exhausted(case, runs):
    raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 40 bytes.")


def broken(case, runs):
    raise AssertionError("the methods disagree")


def fine(case, runs):
    return {"seconds": 0.25}

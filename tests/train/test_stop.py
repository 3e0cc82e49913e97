"""Ctrl-C in a process that lives on, as a notebook's does."""

import ctypes
import gc
import hashlib
import os
import signal
import sys
import threading
import time
import weakref

import pytest

import diffop as do
from diffop.parallel.processes import Stop, interruptible
from diffop.train import iteration

from .toy import settings

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heard")


def workers():
    return [each for each in threading.enumerate() if "(act)" in each.name]


def ctrl_c(times, ready):
    """Ctrl-C, as often as told, when something is ready; to the process as a whole."""

    def send():
        while not ready():
            time.sleep(0.01)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_what_is_waited_for_is_left_at_once():
    """It ends alone."""
    release = threading.Event()
    sender = ctrl_c(1, workers)
    with pytest.raises(KeyboardInterrupt):
        interruptible(release.wait)
    (worker,) = workers()
    release.set()
    worker.join()
    sender.join()


def test_what_comes_of_waiting():
    assert interruptible(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        interruptible(divmod, 7, 0)


def test_signals_are_said_once_and_restored():
    before, said = signal.getsignal(signal.SIGINT), []
    with Stop(said.append) as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal == signal.SIGTERM
        os.kill(os.getpid(), signal.SIGTERM)  # once more is not more
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop.signal == signal.SIGTERM
    assert said == ["SIGTERM: stopping after the running steps; Ctrl-C stops at once."]
    assert signal.getsignal(signal.SIGINT) is before


def send_while_collecting(phase, _):
    if phase == "stop":
        signal.raise_signal(signal.SIGINT)


class Dead:
    pass


class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def collect():
    gc.callbacks.append(send_while_collecting)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(send_while_collecting)


def let_refer():
    referred = Dead()
    reference = weakref.ref(referred, lambda _: signal.raise_signal(signal.SIGINT))
    del referred
    assert reference() is None


class Asked:
    def __getattr__(self, name):
        signal.raise_signal(signal.SIGINT)


def ask_in_c():
    ctypes.pythonapi.PyObject_HasAttrString(ctypes.py_object(Asked()), b"name")


@pytest.mark.parametrize("interrupt", [collect, Dying, let_refer, ask_in_c])
def test_ctrl_c_is_heard_where_the_interpreter_ignores_what_is_raised(interrupt, capsys):
    """As in the callback of the garbage collector that JAX has; nothing is said of it."""
    hook, release = sys.unraisablehook, threading.Event()
    with Stop(lambda _: None):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupt()
            interruptible(release.wait, 5)
    release.set()
    for worker in workers():
        worker.join()
    assert sys.unraisablehook is hook
    assert capsys.readouterr().err == ""


def test_two_before_the_handler_has_run_are_two():
    """The interpreter comes back from C to one call of the handler."""
    release = threading.Event()
    with Stop(lambda _: None) as stop:
        sender = ctrl_c(2, lambda: time.sleep(0.1) or True)
        with pytest.raises(KeyboardInterrupt):
            hashlib.pbkdf2_hmac("sha256", b"", b"", 4_000_000)
            sender.join()
            interruptible(release.wait, 5)
        assert stop.signal == signal.SIGINT
    release.set()
    for worker in workers():
        worker.join()


def test_the_second_ctrl_c_leaves_the_process_alive(tmp_path, monkeypatch):
    """`solve` raises while XLA is still at it, and goes on when it is called again."""
    noted = []
    monkeypatch.setattr(Stop, "_note", noting(Stop._note, noted))
    release = threading.Event()  # XLA takes as long as the test wants it to

    def slow(action, *arguments):
        return interruptible(lambda: release.wait() and action(*arguments))

    monkeypatch.setattr(iteration, "interruptible", slow)
    sender = ctrl_c(2, workers)
    with pytest.raises(KeyboardInterrupt) as caught:
        do.train.solve(settings(steps=10), tmp_path / "run", checkpoint_every=100)
    assert caught.type is KeyboardInterrupt and noted == [signal.SIGINT] * 2
    (worker,) = workers()
    release.set()
    sender.join()
    worker.join()
    assert not list((tmp_path / "run").glob("checkpoints/*"))
    do.train.check(settings(steps=10), tmp_path / "run", resume=True)


def noting(note, noted):
    def call(self, number, frame):
        noted.append(number)
        note(self, number, frame)

    return call

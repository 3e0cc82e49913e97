"""What a command prints and how it ends: exit codes, errors, and streams that are closed."""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn, final

from .failures import failure

FAILED, BAD_INPUT, _INTERRUPTED, _BROKEN_PIPE = 1, 2, 130, 141


def complain(reason: Exception | str, code: int) -> int:
    """Prints why a command fails, unless there is nothing to say, and returns its exit code."""
    if str(reason):
        say(f"error: {reason}")
    return code


def say(text: str) -> None:
    """Prints to the error stream."""
    with contextlib.suppress(OSError):  # nobody reads the stream
        print(f"diffop: {text}", file=sys.stderr)


@final
class Ended(Exception):
    """A command cannot go on, for a reason that may be empty, and has an exit code."""

    def __init__(self, reason: str, code: int):
        super().__init__(reason)
        self.code = code


@contextlib.contextmanager
def ending(code: int, *kinds: type[Exception]) -> Iterator[None]:
    """A context in which errors of some kinds end the command with an exit code, but for those of
    another process or a device.
    """
    try:
        yield
    except kinds as error:
        if failure(error):
            raise
        raise Ended(str(error) or type(error).__name__, code) from error


def print_text(text: str, otherwise: str = "") -> None:
    """Writes to the output, at once; `otherwise` says where else to find the text.

    **Raises:** `Ended` if that fails.
    """
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        print(text, flush=True)
    except OSError as error:
        raise _unprinted(error, otherwise) from None


def _unprinted(error: OSError, otherwise: str = "") -> Ended:
    """The end after an output could not be written: its reader has gone, or there is no room."""
    code = _BROKEN_PIPE if isinstance(error, BrokenPipeError) else FAILED
    if code == _BROKEN_PIPE and not otherwise:
        return Ended("", code)  # as usual with `head`
    more = f"; {otherwise}" if otherwise else ""
    return Ended(f"the output could not be written: {error}{more}.", code)


def as_process(main: Callable[[], int]) -> NoReturn:
    """Runs a command line as a process. Ctrl-C that is not handled ends it at once, without waiting
    for XLA. Characters that a stream cannot encode are written as their numbers. A stream that is
    closed, such as that of `head`, ends it with at most one line.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is None:  # it is closed: nobody reads it
        sys.stderr = open(os.devnull, "w")
    try:
        code = main()
    except SystemExit as ended:  # after --help, or for words that cannot be parsed
        code = ended.code
    except KeyboardInterrupt:
        code = complain("interrupted; `solve` with --resume goes on with its run.", _INTERRUPTED)
        _flush()
        os._exit(code)
    if (end := _flush()) is not None and code == 0:
        code = complain(end, end.code)
    sys.exit(code)


def _flush() -> Ended | None:
    """Writes the streams' remaining output, or drops it if they are closed, since the interpreter
    would try again at exit. Returns what is wrong with the output.
    """
    wrong = None
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            wrong = _unprinted(error) if stream is sys.stdout else wrong
    return wrong

"""Tracebacks that end at the user's line: frames of this package are left out, as JAX leaves out
its own.
"""

import contextlib
import functools
import pathlib
import types
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax

_OWN = str(pathlib.Path(__file__).parent)
_BETWEEN = (str(pathlib.Path(eqx.__file__).parent), contextlib.__file__)
_NOTE = "diffop has left out its frames, too; JAX_TRACEBACK_FILTERING=off shows all of them."

P = ParamSpec("P")
R = TypeVar("R")


def short_tracebacks(function: Callable[P, R]) -> Callable[P, R]:
    """Wraps a function so that its errors show only the frames of the user's functions.

    JAX's own setting `jax_traceback_filtering` is honoured: "off" leaves everything as it is.
    """

    @functools.wraps(function)
    def short(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if getattr(jax.config, "jax_traceback_filtering", "auto") != "off":
                error.__traceback__ = _joined(_of_others(error.__traceback__))
                if _NOTE not in getattr(error, "__notes__", ()):
                    error.add_note(_NOTE)
            raise

    return short


def _of_others(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    """The entries that belong neither to this package nor to calls of what it decorates, by Equinox
    or `contextlib`.
    """
    between = False
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        between = file.startswith(_OWN) or (between and file.startswith(_BETWEEN))
        if not between:
            yield traceback
        traceback = traceback.tb_next


def _joined(entries: Iterator[types.TracebackType]) -> types.TracebackType | None:
    rest = None
    for entry in reversed(list(entries)):
        rest = types.TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest

"""Run-time type checks of the library that cost nothing in the tests for which they are off.

jaxtyping's import hook checks every function, and beartype writes a program for each: all of them
at import, and those within functions again at each call of what is around them, which was a third
of the time of all tests. Here a check is made at the first call for which checks are on, once for
all functions that the same lines define with the same annotations.
"""

import functools
import threading
import types
from collections.abc import Callable, Hashable

import jaxtyping

FIRST, EVERY = 10, 20
"""How many calls of a function are checked at the beginning of a test, and one in how many then."""


class Turns:
    """Counts how often the same lines have been asked for in a test, and tells whose turn it is."""

    def __init__(self) -> None:
        self._count: dict[int, int] = {}

    def __call__(self, lines: types.CodeType) -> bool:
        number = self._count[id(lines)] = self._count.get(id(lines), 0) + 1
        return number <= FIRST or number % EVERY == 0

    def clear(self) -> None:
        self._count.clear()


MADE, CALLED = Turns(), Turns()
"""Functions that are defined within others, and calls."""


def begin() -> None:
    """A test begins: the next calls of all functions are their first ones."""
    MADE.clear()
    CALLED.clear()


def when_on(jaxtyped: Callable) -> Callable:
    """`jaxtyping.jaxtyped` as the import hook uses it, its checks made when they are on."""
    checks: dict[Hashable, Callable] = {}

    def decorator(*, typechecker: Callable) -> Callable:
        def checked(target: Callable) -> Callable:
            return jaxtyped(target, typechecker=typechecker)

        def decorated(function: Callable) -> Callable:
            if not isinstance(function, types.FunctionType):
                return checked(function)
            if "<locals>" in function.__qualname__:
                if jaxtyping.config.jaxtyping_disable or not MADE(function.__code__):
                    return function
            return _checked_when_on(function, checked, checks)

        return decorated

    return decorator


def _checked_when_on(
    function: Callable, checked: Callable, checks: dict[Hashable, Callable]
) -> Callable:
    key = _lines_and_annotations(function)

    @functools.wraps(function)
    def called(*args, **kwargs):
        __tracebackhide__ = True
        if jaxtyping.config.jaxtyping_disable or not CALLED(function.__code__):
            return function(*args, **kwargs)
        check = checks.get(key)
        if check is None:
            check = checks[key] = _check(function, checked)
        return check(function)(*args, **kwargs)

    return called


def _lines_and_annotations(function: Callable) -> Hashable:
    annotations = tuple(function.__annotations__.items())
    try:
        hash(annotations)
    except TypeError:  # those of parameters in general
        return function.__code__, repr(annotations)
    return function.__code__, annotations


def _check(like: Callable, checked: Callable) -> Callable:
    """Of a function of the same lines as `like`, that function with its arguments and its value
    checked; it has to be called at once, by the thread that asked for it.
    """
    following = threading.local()

    @functools.wraps(like)
    def call(*args, **kwargs):
        __tracebackhide__ = True
        return following.function(*args, **kwargs)

    checked_call = checked(call)

    def of(function: Callable) -> Callable:
        following.function = function
        return checked_call

    return of

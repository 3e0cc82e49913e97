"""Tables of functions by the names of primitives."""

from collections.abc import Callable
from typing import TypeVar

_Function = TypeVar("_Function")


def entering(table: dict[str, _Function]) -> Callable[..., Callable[[_Function], _Function]]:
    """A decorator with names: it enters a function into the table under each of them."""

    def register(*names: str) -> Callable[[_Function], _Function]:
        def decorate(function: _Function) -> _Function:
            table.update(dict.fromkeys(names, function))
            return function

        return decorate

    return register

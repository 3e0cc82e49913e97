"""The base of all classes that users subclass."""

import inspect
from typing import Any, TypeVar

import equinox as eqx

T = TypeVar("T", bound="Complete")


class Complete(eqx.Module):
    """A base whose subclasses are told at once of all methods and attributes that they lack.

    **Raises:** `TypeError` when a class that lacks some is called, or one that has no argument with
    a place is given one, as in `Laplacian(u)`.
    """

    def __new__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        own: Any = cls
        if own.__abstractmethods__ or own.__abstractvars__:
            methods, attributes = sorted(own.__abstractmethods__), sorted(own.__abstractvars__)
            lacks = [f"{name}(…)" for name in methods] + attributes
            base = next(each for each in cls.__mro__ if each.__module__.startswith("diffop."))
            raise TypeError(
                f"{cls.__name__} lacks {', '.join(lacks)}, which every {base.__name__} has; define "
                "them, methods by def and attributes by name = …"
            )
        if args and _takes_no_places(cls.__init__):
            applied = f"; it is applied afterwards, {cls.__name__}().exact(u)(x)"
            raise TypeError(
                f"arguments of {cls.__name__} are given by their names, got {args[0]!r}"
                f"{applied if getattr(cls, 'is_operator', False) else ''}."
            )
        return super().__new__(cls)  # pyright: ignore[reportArgumentType]


def _takes_no_places(function: Any) -> bool:
    """Whether a function takes nothing but `self` without a name."""
    code = getattr(inspect.unwrap(function), "__code__", None)  # None for one in C
    return code is not None and code.co_argcount == 1 and not code.co_flags & inspect.CO_VARARGS

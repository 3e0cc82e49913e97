"""The base of all classes that users subclass."""

from typing import Any, TypeVar

import equinox as eqx

T = TypeVar("T", bound="Complete")


class Complete(eqx.Module):
    """A base whose subclasses are told at once of all methods and attributes that they lack.

    **Raises:** `TypeError` when a class that lacks some is called.
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
        return super().__new__(cls)  # pyright: ignore[reportArgumentType]

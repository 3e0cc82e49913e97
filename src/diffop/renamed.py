"""Names that have changed, for a release in which the old ones are taken too."""

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

GONE = "0.3"
"""The release that has no old names any more; docs/how_to/old_names.md lists them."""

_BETWEEN = ("diffop", "equinox", "jaxtyping")


def renamed(**names: str) -> Callable[[type[T]], type[T]]:
    """Decorates a class that takes and shows some of its arguments, and attributes, under their old
    names as well: `@renamed(old="new")`. Using one of these is a `DeprecationWarning`.

    **Raises:** `TypeError`, when the class is called, for both names of one argument.
    """

    def decorated(cls: type[T]) -> type[T]:
        init = cls.__init__

        @functools.wraps(init)
        def __init__(self: T, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **_new(cls.__name__, kwargs, names))

        cls.__init__ = __init__
        for old, new in names.items():
            setattr(cls, old, old_attribute(old, new))
        return cls

    return decorated


def old_attribute(old: str, new: str) -> property:
    """An attribute by its old name: reading it is a `DeprecationWarning`."""
    return property(functools.partial(_attribute, old=old, new=new))


def old_names(module: str, names: dict[str, tuple[str, Any]]) -> Callable[[str], Any]:
    """A `__getattr__` of a module that gives what old names were: for each of them what to write
    now, and the object. Using one is a `DeprecationWarning`.
    """

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new, value = names[name]
        warn_of(f"{module}.{name} is now {new}")
        return value

    return __getattr__


def _new(whose: str, kwargs: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    for old, new in names.items():
        if old in kwargs:
            if new in kwargs:
                raise TypeError(f"{whose} got {new} and its old name {old}; leave {old} out.")
            warn_of(f"{whose} takes {old}= by its new name {new}=")
    return {names.get(name, name): value for name, value in kwargs.items()}


def _attribute(self: Any, old: str, new: str) -> Any:
    warn_of(f"{type(self).__name__}.{old} is now called {new}")
    return getattr(self, new)


def warn_of(change: str) -> None:
    """Warns of a change where the user's own code is: classes are called through other packages."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    text = f"{change}; diffop {GONE} will not know the old name."
    warnings.warn(text, DeprecationWarning, stacklevel=level)

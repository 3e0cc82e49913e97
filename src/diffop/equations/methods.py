"""What conditions and losses say of themselves: by methods, which their classes define."""

import dataclasses
from typing import Any


def has_method(value: Any, name: str) -> bool:
    """Whether the class of an object defines a method of a name. A field of that name is data, be
    it a function, and an object that has one says nothing of itself by it.
    """
    cls = type(value)
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return callable(getattr(cls, name, None)) and name not in [field.name for field in fields]

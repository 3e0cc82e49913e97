"""Whether a condition or a loss has a method: its class has to define it."""

import dataclasses
from typing import Any


def has_method(value: Any, name: str) -> bool:
    """Whether the class of an object defines a method of this name. A field of that name is data,
    even if it is a function.
    """
    cls = type(value)
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return callable(getattr(cls, name, None)) and name not in [field.name for field in fields]

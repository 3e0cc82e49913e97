"""Immutable records that are pytrees, of which the engine makes tens of thousands as it traces."""

import dataclasses
import operator
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import equinox as eqx
import jax

_Class = TypeVar("_Class", bound=type)


def static(**kwargs: Any) -> Any:
    """A field that is part of the structure, not an array."""
    return dataclasses.field(metadata={"static": True}, **kwargs)


@dataclass_transform(frozen_default=True, field_specifiers=(static,))
def record(cls: _Class) -> _Class:
    """A class of fields, some of them `static`, as a frozen dataclass and a pytree.

    An `equinox.Module` can do more: it makes methods into pytrees when they are looked up, and
    converts and checks fields. The engine needs none of that, and it took a third of the time that
    tracing took.
    """
    made = dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)
    made.__repr__ = eqx.tree_pformat
    fields = dataclasses.fields(made)
    arrays = [field.name for field in fields if "static" not in field.metadata]
    structure = [field.name for field in fields if "static" in field.metadata]

    arrays_of, structure_of = _getter(arrays), _getter(structure)

    def flatten(value: Any) -> tuple[Any, Any]:
        return arrays_of(value), structure_of(value)

    def unflatten(structured: Any, leaves: Any) -> Any:
        value = object.__new__(made)  # leaves may be anything: `__init__` expects arrays
        for names, values in ((arrays, leaves), (structure, structured)):
            for name, each in zip(names, values, strict=True):
                object.__setattr__(value, name, each)
        return value

    jax.tree_util.register_pytree_node(made, flatten, unflatten)
    return made


def _getter(names: list[str]) -> Callable[[Any], Any]:
    """The fields of such names, in a tuple."""
    if not names:
        return lambda value: ()
    fields = operator.attrgetter(*names)
    return fields if len(names) > 1 else lambda value: (fields(value),)

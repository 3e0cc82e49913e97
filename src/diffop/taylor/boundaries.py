"""Values on their way into and out of programs that JAX traces apart (rematerialised ones,
branches), where every array becomes an array of its own.
"""

from collections.abc import Callable, Sequence
from typing import Any

from . import by_direction
from .bundle import Bundle, Value
from .coefficients import ByDirection, Coefficient
from .source import Source


def sourced(values: Sequence[Value]) -> list[Value]:
    """Values whose sparse coefficients all say where their positions come from."""
    others: dict[int, Source] = {}

    def named(c: Coefficient) -> Coefficient:
        if not isinstance(c, ByDirection):
            return c
        source = by_direction.source_of(c) or others.setdefault(id(c.positions), Source())
        return ByDirection(c.positions, c.values, c.distinct, source)

    return _each(named, values)


def reunited(values: Sequence[Value]) -> list[Value]:
    """Values in which positions of one source are one array again, a known one where they are."""
    arrays: dict[Source, Any] = {}

    def united(c: Coefficient) -> Coefficient:
        if not isinstance(c, ByDirection) or c.source is None:
            return c
        known = c.source.known
        positions = arrays.setdefault(c.source, c.positions) if known is None else known
        return ByDirection(positions, c.values, c.distinct, c.source)

    return _each(united, values)


def _each(function: Callable[[Coefficient], Coefficient], values: Sequence[Value]) -> list[Value]:
    return [
        Bundle(value.primal, tuple(tuple(map(function, series)) for series in value.series))
        if isinstance(value, Bundle)
        else value
        for value in values
    ]

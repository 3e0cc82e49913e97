"""Sources: names of the engine's arrays, by which equal arrays are recognised while tracing."""

from collections.abc import Hashable
from typing import Any, final


@final
class Source:
    """The name of an array: arrays of equal sources are equal, entry by entry in row-major order.

    One array may be two tracers: behind a rematerialised function, behind a branch, or as the
    results of two equal equations. A source is part of the structure of whatever holds the array,
    and passes through all of these. A `step` makes it from a `parent`; without a parent, it is
    what the step names, or an array equal to no other.
    """

    def __init__(self, step: Hashable = None, parent: "Source | None" = None) -> None:
        self.step = object() if step is None else step
        self.parent = parent
        self._hash = hash((self.step, parent))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Source):
            return False
        a: Source | None = self
        b: Source | None = other
        while a is not b:
            if a is None or b is None or a._hash != b._hash or a.step != b.step:
                return False
            a, b = a.parent, b.parent
        return True

"""What arrays of the engine are, told apart while tracing."""

from collections.abc import Hashable
from typing import Any, final


@final
class Source:
    """The name of an array: arrays of equal sources are equal, entry by entry in row-major order.

    Two tracers may be one array, and are two behind a rematerialised function, a branch, or two
    equal equations; a source is part of the structure of what holds the array, and goes through all
    of them. It is what a `step` makes of a `parent`; without a parent, what the step names, or an
    array like no other.
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

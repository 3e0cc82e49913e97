"""Where the positions of sparse coefficients come from."""

from collections.abc import Hashable
from typing import Any, final

import numpy as np

from .numbers import Numbers


@final
class Source:
    """Coefficients of equal sources have equal positions, whatever the arrays are: the operands of
    a rematerialised function, or the outputs of two equal equations, are not each other.

    It is the positions of a `parent` after a `step`; without a parent, positions that the step
    names, or that are like no others.
    """

    def __init__(self, step: Hashable = None, parent: "Source | None" = None) -> None:
        self.step = object() if step is None else step
        self.parent = parent
        self._hash = hash((self.step, parent))

    @property
    def known(self) -> np.ndarray | None:
        """The positions themselves, where they are known while tracing."""
        return self.step.array if isinstance(self.step, Numbers) else None

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


@final
class Joined(tuple):
    """The step of positions side by side: the source and the number of each set of them."""

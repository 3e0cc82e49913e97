"""folx's flags of functions, which have no effect here."""

from enum import IntFlag
from typing import final


@final
class FunctionFlags(IntFlag):
    """`folx.api.FunctionFlags`: properties of a function. They have no effect here, since diffop
    finds these properties while it traces a function.

    !!! example

        ```python
        from diffop.compat.folx.api import FunctionFlags

        FunctionFlags.LINEAR_IN_FIRST in FunctionFlags.SUMMATION  # True
        ```
    """

    GENERAL = 0
    LINEAR_IN_FIRST = 1 << 0
    LINEAR_IN_ONE = 1 << 1 | LINEAR_IN_FIRST
    LINEAR = 1 << 2 | LINEAR_IN_ONE
    REDUCTION = 1 << 3
    MULTIPLICATION = 1 << 4 | LINEAR_IN_ONE
    DOT_PRODUCT = 1 << 5 | REDUCTION | MULTIPLICATION
    INDEXING = 1 << 6 | LINEAR
    SCATTER = 1 << 7
    SPARSE_JHJ = 1 << 8
    SUMMATION = 1 << 9 | LINEAR | REDUCTION

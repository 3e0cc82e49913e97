"""The Taylor engine: jets pushed through any JAX function, all directions at once, the top order
collapsed.
"""

from .coefficients import (
    ByDirection as ByDirection,
    ByEntry as ByEntry,
    Full as Full,
    Image as Image,
    Zero as Zero,
)
from .declared import register as register
from .pushforward import Pushed as Pushed, jet as jet, push as push
from .rules.by_jvp import UnsupportedPrimitiveError as UnsupportedPrimitiveError
from .sparsity.numbers import Numbers as Numbers
from .sparsity.source import Source as Source
from .tangents import Jets as Jets, Matrix as Matrix
from .truncation import Truncation as Truncation

"""The Taylor engine: it pushes jets through any JAX function, all directions at once, with the
highest order collapsed.
"""

from ..algebra.algebra import Algebra
from ..coefficients.block import Axis, Block
from ..coefficients.blocks import Blocks
from ..coefficients.index import Range, Table, Traced
from ..source import Source
from .coefficients import Full, Image, Zero
from .declared import register
from .pushforward import Pushed, jet, push
from .rules.by_jvp import UnsupportedPrimitiveError
from .seeds import basis, entries
from .tangents import Jets, Matrix

__all__ = [
    "Algebra",
    "Axis",
    "Block",
    "Blocks",
    "Full",
    "Image",
    "Jets",
    "Matrix",
    "Pushed",
    "Range",
    "Source",
    "Table",
    "Traced",
    "UnsupportedPrimitiveError",
    "Zero",
    "basis",
    "entries",
    "jet",
    "push",
    "register",
]

__dir__ = __all__.copy

"""The Taylor engine: jets pushed through any JAX function, all directions at once, the top order
collapsed.
"""

from ..algebra.algebra import Algebra as Algebra
from ..coefficients.block import Axis as Axis, Block as Block
from ..coefficients.blocks import Blocks as Blocks
from ..coefficients.index import Range as Range, Table as Table, Traced as Traced
from ..source import Source as Source
from .coefficients import Full as Full, Image as Image, Zero as Zero
from .declared import register as register
from .pushforward import Pushed as Pushed, jet as jet, push as push
from .rules.by_jvp import UnsupportedPrimitiveError as UnsupportedPrimitiveError
from .seeds import basis as basis, entries as entries
from .tangents import Jets as Jets, Matrix as Matrix

"""The Taylor engine: jets pushed through any JAX function, all directions at once, the top order
collapsed.
"""

from .push import Jets as Jets
from .push import Pushed as Pushed
from .push import jet as jet
from .push import push as push
from .rules.fallback import UnsupportedPrimitiveError as UnsupportedPrimitiveError

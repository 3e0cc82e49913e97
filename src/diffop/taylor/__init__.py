"""The Taylor engine: jets pushed through any JAX function, all directions at once, the top order
collapsed.
"""

from .pushforward import Jets as Jets, Pushed as Pushed, jet as jet, push as push
from .rules.fallback import UnsupportedPrimitiveError as UnsupportedPrimitiveError

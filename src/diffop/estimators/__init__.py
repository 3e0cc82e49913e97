"""Estimates from random draws: standard errors, variances, accuracy, deflation, and the choice
between them. `diffop.exact`, `diffop.estimate`, `diffop.choose` and `diffop.variance` return these.
"""

from .adaptive import Adaptive
from .choice import Choice, Way
from .control import Controlled
from .deflation import Deflated
from .statistics import Stats
from .together import Joint, JointDraws
from .variance import Variance

__all__ = [
    "Adaptive",
    "Choice",
    "Controlled",
    "Deflated",
    "Joint",
    "JointDraws",
    "Stats",
    "Variance",
    "Way",
]

__dir__ = __all__.copy

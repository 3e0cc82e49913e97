"""Schemes: the jets from which mixed derivatives are read, and their cost."""

from .cost import Cost
from .expansion import Expansion, expand
from .planner import Planned
from .polarisation import polarisation
from .scheme import Jet, Readout, Scheme

__all__ = [
    "Cost",
    "Expansion",
    "Jet",
    "Planned",
    "Readout",
    "Scheme",
    "expand",
    "polarisation",
]

__dir__ = __all__.copy

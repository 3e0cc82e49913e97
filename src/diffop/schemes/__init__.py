"""Schemes: the jets from which mixed derivatives are read."""

from .expansion import Expansion, expand
from .polarisation import polarisation
from .scheme import Jet, Readout, Scheme

__all__ = [
    "Expansion",
    "Jet",
    "Readout",
    "Scheme",
    "expand",
    "polarisation",
]

__dir__ = __all__.copy

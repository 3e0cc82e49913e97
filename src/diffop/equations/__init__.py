"""What u has to satisfy: equations, and conditions at points."""

from .condition import AnyCondition, Condition
from .equation import AbstractEquation, Equation
from .matching import Matching
from .sampled import Sampled

__all__ = [
    "AbstractEquation",
    "AnyCondition",
    "Condition",
    "Equation",
    "Matching",
    "Sampled",
]
__dir__ = __all__.copy

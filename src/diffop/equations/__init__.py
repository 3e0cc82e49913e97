"""Equations and the conditions that come with them."""

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

"""Quadrature: the regions that integrals are taken over, and the points of rules.

The room in reading order:

    region.py     the base class of regions: images of a unit cube
    regions.py    boxes with fixed or moving ends, balls, parts of regions, all of space
    rules.py      fixed rules: points of the unit cube with weights
    jumps.py      measures of jumps, in two parts
    stable.py     the jumps of stable processes
"""

from .jumps import AbstractJumps, Jump, PoissonJumps
from .region import AbstractRegion
from .regions import (
    Disc,
    Limits,
    WholeSpace,
    Within,
)
from .rules import AbstractRule, GaussJacobi, GaussLegendre, Sobol
from .stable import StableJumps

__all__ = [
    "AbstractJumps",
    "AbstractRegion",
    "AbstractRule",
    "Disc",
    "GaussJacobi",
    "GaussLegendre",
    "Jump",
    "Limits",
    "PoissonJumps",
    "Sobol",
    "StableJumps",
    "WholeSpace",
    "Within",
]

__dir__ = __all__.copy

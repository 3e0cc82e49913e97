"""What integrals are taken over, and by which points.

The room in reading order:

    region.py     what is integrated over: the image of a unit cube
    regions.py    boxes whose ends may move, balls, parts of these, all of space
    rules.py      the points of a unit cube that a fixed rule takes
    jumps.py      measures of jumps, in two parts
    stable.py     those of stable processes
"""

from .jumps import AbstractJumps, Jump, PoissonJumps
from .region import AbstractRegion
from .regions import (
    Disc,
    Limits,
    WholeSpace,
    Within,
)
from .rules import AbstractRule, GaussLegendre, Sobol
from .stable import StableJumps

__all__ = [
    "AbstractJumps",
    "AbstractRegion",
    "AbstractRule",
    "Disc",
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

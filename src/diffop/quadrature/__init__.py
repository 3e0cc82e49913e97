"""What integrals are taken over, and by which points.

The room in reading order:

    region.py     what is integrated over: the image of a unit cube
    regions.py    boxes whose ends may move, balls, parts of these, all of space
    rules.py      the points of a unit cube that a fixed rule takes
    jumps.py      measures of jumps, in two parts
    stable.py     those of stable processes
"""

from .jumps import AbstractJumps as AbstractJumps, Jump as Jump, PoissonJumps as PoissonJumps
from .region import AbstractRegion as AbstractRegion
from .regions import (
    Disc as Disc,
    Limits as Limits,
    WholeSpace as WholeSpace,
    Within as Within,
)
from .rules import AbstractRule as AbstractRule, GaussLegendre as GaussLegendre, Sobol as Sobol
from .stable import StableJumps as StableJumps

"""Problems: domain, operators, source, boundary condition, known solution, sampler."""

from ._allen_cahn import AllenCahnTwoBody as AllenCahnTwoBody
from ._ball import unit_ball as unit_ball
from ._problem import AbstractProblem as AbstractProblem
from ._registry import make as make, names as names

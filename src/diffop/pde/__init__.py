"""Problems: domain, operators, source, data, known solution, sampler."""

from ._allen_cahn import AllenCahnTwoBody as AllenCahnTwoBody
from ._ball import unit_ball as unit_ball
from ._hirota import Wave as Wave
from ._kdv_1d import KdV1D as KdV1D
from ._kdv_2d import KdV2D as KdV2D
from ._kp_2d import KP2D as KP2D
from ._problem import (
    AbstractProblem as AbstractProblem,
    Condition as Condition,
    Section as Section,
)
from ._recommended import Recommended as Recommended
from ._registry import make as make, names as names, recommended as recommended
from ._sine_gordon import SineGordonTwoBody as SineGordonTwoBody
from ._soliton import AbstractSoliton as AbstractSoliton
from ._space_time import SpaceTimeBox as SpaceTimeBox
from ._two_body_problem import AbstractTwoBody as AbstractTwoBody

"""Problems: domain, operators, source, data, known solution, sampler.

The room in reading order:

    problem.py         what a problem is
    recommended.py     the settings that suit it
    sampling/          random points
    domains/           where an equation holds, and the parts of its boundary
    conditions/        what is prescribed there
    ball/              semilinear equations on the unit ball
    whole_space.py     what problems in all of space and in time share
    semilinear/        parabolic equations with a value at the last time, known at one point
    terminal_value/    others, with a known solution
    wave.py            the wave equation
    poisson_box.py     the Poisson equation on a cube
    fokker_planck.py   a stationary density
    schroedinger.py    a ground state
    kovasznay.py       the Navier-Stokes equations, a vector-valued unknown
    plate.py           a plate with clamped and free edges
    convection_diffusion.py    values and fluxes on the faces of a square
    solitons/          equations with mixed derivatives of order four
    registry.py        problems by name
"""

from ..equations.condition import AnyCondition as AnyCondition, Condition as Condition
from ..equations.matching import Matching as Matching
from ..equations.sampled import Sampled as Sampled
from ..losses.adaptive import residual_adaptive as residual_adaptive
from .ball.biharmonic import BiharmonicWaves as BiharmonicWaves
from .ball.many_body import ManyBody as ManyBody
from .ball.problem import AbstractBallProblem as AbstractBallProblem
from .conditions.base import AbstractCondition as AbstractCondition, Conditions as Conditions
from .conditions.integrals import Normalised as Normalised, OrthogonalTo as OrthogonalTo
from .conditions.periodic import Periodic as Periodic
from .conditions.prescribed import (
    Dirichlet as Dirichlet,
    Initial as Initial,
    Neumann as Neumann,
    Prescribed as Prescribed,
    Robin as Robin,
)
from .convection_diffusion import ConvectionDiffusion as ConvectionDiffusion
from .domains.ball import Ball as Ball, Sphere as Sphere
from .domains.box import Box as Box, Face as Face, Faces as Faces
from .domains.cloud import CloudBoundary as CloudBoundary, PointCloud as PointCloud
from .domains.combined import Combined as Combined, Complement as Complement
from .domains.domain import (
    AbstractDomain as AbstractDomain,
    AbstractPart as AbstractPart,
    Where as Where,
)
from .domains.implicit import Implicit as Implicit
from .domains.polygon import Polygon as Polygon
from .domains.shape import (
    AbstractShape as AbstractShape,
    Piece as Piece,
    Surface as Surface,
)
from .domains.space_time import Instant as Instant, Lasting as Lasting, SpaceTime as SpaceTime
from .fokker_planck import StationaryFokkerPlanck as StationaryFokkerPlanck
from .kovasznay import Kovasznay as Kovasznay
from .plate import Plate as Plate
from .poisson_box import PoissonBox as PoissonBox
from .problem import (
    AbstractProblem as AbstractProblem,
    AbstractReferenceProblem as AbstractReferenceProblem,
    AbstractSolvedProblem as AbstractSolvedProblem,
    Reference as Reference,
    Section as Section,
)
from .recommended import ByDimension as ByDimension, Recommended as Recommended
from .registry import (
    make as make,
    names as names,
    paper as paper,
    recommended as recommended,
)
from .sampling.ball import unit_ball as unit_ball
from .sampling.box import box as box, box_boundary as box_boundary
from .sampling.brownian import brownian_marginals as brownian_marginals
from .sampling.gaussian import gaussian_space_time as gaussian_space_time
from .sampling.halton import halton as halton
from .sampling.latin import latin_hypercube as latin_hypercube
from .sampling.sobol import sobol as sobol
from .schroedinger import OscillatorChain as OscillatorChain
from .semilinear.allen_cahn import SemilinearAllenCahn as SemilinearAllenCahn
from .semilinear.heat import SemilinearHeat as SemilinearHeat
from .semilinear.problem import AbstractSemilinear as AbstractSemilinear
from .semilinear.sine_gordon import SemilinearSineGordon as SemilinearSineGordon
from .solitons.hirota import Tau as Tau, Wave as Wave
from .solitons.kdv_1d import KdV1D as KdV1D
from .solitons.kdv_2d import KdV2D as KdV2D
from .solitons.kp_2d import KP2D as KP2D
from .solitons.problem import AbstractSoliton as AbstractSoliton
from .terminal_value.black_scholes_barenblatt import (
    BlackScholesBarenblatt as BlackScholesBarenblatt,
)
from .terminal_value.hjb_lin import HJBLin as HJBLin
from .terminal_value.hjb_lqg import HJBLQG as HJBLQG
from .terminal_value.problem import AbstractTerminalValue as AbstractTerminalValue
from .wave import WaveEquation as WaveEquation
from .whole_space import AbstractWholeSpace as AbstractWholeSpace

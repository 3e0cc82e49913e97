"""Problems: domain, operators, source, data, known solution, sampler.

The room in reading order:

    problem.py         the base classes of problems
    recommended.py     the settings that suit a problem
    sampling/          random points
    domains/           where an equation holds, and the parts of its boundary
    conditions/        what is prescribed there
    ball/              semilinear equations on the unit ball
    cube/              equations on a cube in any dimension
    whole_space.py     the base class of problems in all of space and in time
    semilinear/        parabolic equations with a value at the last time, known at one point
    terminal_value/    others, with a known solution
    wave.py            the wave equation
    fokker_planck.py   a stationary density
    schroedinger.py    a ground state
    kovasznay.py       the Navier-Stokes equations, a vector-valued unknown
    plate.py           a plate with clamped and free edges
    convection_diffusion.py    values and fluxes on the faces of a square
    solitons/          equations with mixed derivatives of order four
    classical/         common benchmarks of papers on physics-informed networks
    registry.py        problems by name
"""

from .ball.biharmonic import BiharmonicWaves
from .ball.many_body import ManyBody
from .ball.problem import AbstractBallProblem
from .classical.advection import Advection
from .classical.allen_cahn_1d import AllenCahn1D
from .classical.backward_step import BackwardStep
from .classical.burgers import Burgers
from .classical.cavity import Cavity
from .classical.computed import AbstractComputed
from .classical.evolution import AbstractEvolution, AbstractPeriodic
from .classical.ginzburg_landau import GinzburgLandau
from .classical.gray_scott import GrayScott
from .classical.helmholtz import Helmholtz
from .classical.kdv_cosine import KdVCosine
from .classical.kuramoto_sivashinsky import KuramotoSivashinsky
from .classical.taylor_green import TaylorGreen
from .classical.wave_1d import Wave1D
from .conditions.base import AbstractDrawnCondition, Conditions
from .conditions.integrals import Normalised, OrthogonalTo
from .conditions.periodic import Periodic
from .conditions.prescribed import (
    Dirichlet,
    Initial,
    Neumann,
    Prescribed,
    Robin,
)
from .convection_diffusion import ConvectionDiffusion
from .cube.elliptic import OnCube
from .cube.heat import HeatOnCube
from .cube.problem import AbstractOnCube
from .domains.ball import Ball, Sphere
from .domains.box import Box, Face, Faces
from .domains.cloud import CloudBoundary, PointCloud
from .domains.combined import Combined, Complement
from .domains.domain import (
    AbstractDomain,
    AbstractPart,
    Where,
)
from .domains.implicit import Implicit
from .domains.polygon import Polygon
from .domains.shape import (
    AbstractShape,
    Piece,
    Surface,
)
from .domains.space_time import Instant, Lasting, SpaceTime
from .fokker_planck import StationaryFokkerPlanck
from .kovasznay import Kovasznay
from .plate import Plate
from .problem import (
    AbstractProblem,
    AbstractReferenceProblem,
    AbstractSolvedProblem,
    Reference,
    Section,
)
from .recommended import ByDimension, Recommended
from .registry import (
    make,
    names,
    paper,
    recommended,
)
from .sampling.ball import unit_ball_by_radius
from .sampling.box import points_in_box, points_on_box
from .sampling.brownian import brownian_marginals
from .sampling.gaussian import gaussian_space_time
from .sampling.halton import halton
from .sampling.latin import latin_hypercube
from .sampling.sobol import sobol
from .schroedinger import OscillatorChain
from .semilinear.allen_cahn import SemilinearAllenCahn
from .semilinear.heat import SemilinearHeat
from .semilinear.problem import AbstractSemilinear
from .semilinear.sine_gordon import SemilinearSineGordon
from .solitons.hirota import Soliton, Tau
from .solitons.kdv_1d import KdV1D
from .solitons.kdv_2d import KdV2D
from .solitons.kp_2d import KP2D
from .solitons.problem import AbstractSolitonProblem
from .terminal_value.black_scholes_barenblatt import (
    BlackScholesBarenblatt,
)
from .terminal_value.hjb_lin import HJBLin
from .terminal_value.hjb_lqg import HJBLQG
from .terminal_value.problem import AbstractTerminalValue
from .wave import WaveEquation
from .whole_space import AbstractWholeSpace

__all__ = [
    "AbstractBallProblem",
    "AbstractComputed",
    "AbstractDomain",
    "AbstractDrawnCondition",
    "AbstractEvolution",
    "AbstractOnCube",
    "AbstractPart",
    "AbstractPeriodic",
    "AbstractProblem",
    "AbstractReferenceProblem",
    "AbstractSemilinear",
    "AbstractShape",
    "AbstractSolitonProblem",
    "AbstractSolvedProblem",
    "AbstractTerminalValue",
    "AbstractWholeSpace",
    "Advection",
    "AllenCahn1D",
    "BackwardStep",
    "Ball",
    "BiharmonicWaves",
    "BlackScholesBarenblatt",
    "Box",
    "Burgers",
    "Cavity",
    "ByDimension",
    "CloudBoundary",
    "Combined",
    "Complement",
    "Conditions",
    "ConvectionDiffusion",
    "Dirichlet",
    "Face",
    "Faces",
    "GinzburgLandau",
    "GrayScott",
    "HJBLQG",
    "HJBLin",
    "HeatOnCube",
    "Helmholtz",
    "Implicit",
    "Initial",
    "Instant",
    "KP2D",
    "KdV1D",
    "KdV2D",
    "KdVCosine",
    "Kovasznay",
    "KuramotoSivashinsky",
    "Lasting",
    "ManyBody",
    "Neumann",
    "Normalised",
    "OnCube",
    "OrthogonalTo",
    "OscillatorChain",
    "Periodic",
    "Piece",
    "Plate",
    "PointCloud",
    "Polygon",
    "Prescribed",
    "Recommended",
    "Reference",
    "Robin",
    "Section",
    "SemilinearAllenCahn",
    "SemilinearHeat",
    "SemilinearSineGordon",
    "Soliton",
    "SpaceTime",
    "Sphere",
    "StationaryFokkerPlanck",
    "Surface",
    "Tau",
    "TaylorGreen",
    "Wave1D",
    "WaveEquation",
    "Where",
    "points_in_box",
    "points_on_box",
    "brownian_marginals",
    "gaussian_space_time",
    "halton",
    "latin_hypercube",
    "make",
    "names",
    "paper",
    "recommended",
    "sobol",
    "unit_ball_by_radius",
]

__dir__ = __all__.copy

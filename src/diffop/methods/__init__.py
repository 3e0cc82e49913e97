"""Methods of minimising a loss: by its gradient, or by its least-squares structure."""

from ..least_squares.conjugate_gradients import ConjugateGradients
from ..least_squares.dense import QR, Cholesky
from ..least_squares.linear import AbstractSolver, Solution
from ..least_squares.protocol import HasPointwise, HasResiduals
from ..least_squares.vector import Residuals
from .balanced import Balanced
from .base import AbstractMethod, Evaluated, Objective
from .gauss_newton import GaussNewton
from .lbfgs import LBFGS

__all__ = [
    "AbstractMethod",
    "AbstractSolver",
    "Balanced",
    "Cholesky",
    "ConjugateGradients",
    "Evaluated",
    "GaussNewton",
    "HasPointwise",
    "HasResiduals",
    "LBFGS",
    "Objective",
    "QR",
    "Residuals",
    "Solution",
]

__dir__ = __all__.copy

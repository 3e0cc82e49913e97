"""Methods of minimising a loss: by its gradient, or by its least-squares structure."""

from .balanced import Balanced
from .base import AbstractMethod, Evaluated, Objective
from .conjugate_gradients import ConjugateGradients
from .dense import QR, Cholesky
from .gauss_newton import GaussNewton
from .lbfgs import LBFGS
from .linear import AbstractSolver, Solution
from .protocol import HasPointwise, HasResiduals
from .vector import Residuals

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

"""Losses: residuals, their squares, misfits of conditions, and their sum."""

from .adaptive import residual_adaptive
from .causal import Causal
from .loss import ResidualLoss
from .pointwise import Pointwise
from .probes import HasJoint
from .scores import score_matching
from .smoothness import PiecewiseLinearWarning

__all__ = [
    "Causal",
    "HasJoint",
    "PiecewiseLinearWarning",
    "Pointwise",
    "ResidualLoss",
    "residual_adaptive",
    "score_matching",
]

__dir__ = __all__.copy

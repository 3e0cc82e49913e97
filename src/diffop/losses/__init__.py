"""Residuals, their squares, and the loss."""

from .adaptive import residual_adaptive
from .causal import Causal
from .loss import ResidualLoss
from .pointwise import Pointwise
from .scores import score_matching
from .smoothness import PiecewiseLinearWarning

__all__ = [
    "Causal",
    "PiecewiseLinearWarning",
    "Pointwise",
    "ResidualLoss",
    "residual_adaptive",
    "score_matching",
]

__dir__ = __all__.copy

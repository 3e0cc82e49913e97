"""Baselines: the ways in which the paper and its peers compute derivatives, for comparisons."""

from .autodiff import (
    HTE,
    SDGD,
    ForwardOverReverse,
    PaperJet,
    SDGDLoop,
)
from .base import AbstractBaseline
from .directions import Weighted
from .evaluation import Local
from .finite_differences import FiniteDifferences
from .folx import Folx
from .paper_plan import paper
from .registry import as_baseline, estimate, names
from .stein import Stein

__all__ = [
    "AbstractBaseline",
    "FiniteDifferences",
    "Folx",
    "ForwardOverReverse",
    "HTE",
    "PaperJet",
    "Local",
    "SDGD",
    "SDGDLoop",
    "Stein",
    "Weighted",
    "as_baseline",
    "estimate",
    "names",
    "paper",
]

__dir__ = __all__.copy

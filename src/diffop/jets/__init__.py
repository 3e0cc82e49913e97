"""Jets: directions and weights, the sets of terms that they stand for, and what is pushed."""

from .directions import DenseRows, SparseRows
from .fields import Number
from .point import Point
from .table import Plan, PlanRow, ResolvedPlan
from .terms import Factor
from .weighted_jets import WeightedJets

__all__ = [
    "DenseRows",
    "Factor",
    "Number",
    "Plan",
    "PlanRow",
    "Point",
    "ResolvedPlan",
    "SparseRows",
    "WeightedJets",
]

__dir__ = __all__.copy

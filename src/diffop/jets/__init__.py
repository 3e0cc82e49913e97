"""Jets: directions and weights, the sets of terms that they stand for, and what is pushed."""

from .directions import Rows
from .fields import Number
from .point import Point
from .pushes import Group
from .table import Plan, PlanRow, Push, ResolvedPlan
from .terms import Factor
from .weighted_jets import WeightedJets

__all__ = [
    "Factor",
    "Group",
    "Number",
    "Plan",
    "PlanRow",
    "Point",
    "Push",
    "ResolvedPlan",
    "Rows",
    "WeightedJets",
]

__dir__ = __all__.copy

"""Plans: which jets, with which weights, compute an operator, exactly or in expectation."""

from .cost import Cost
from .directions import DenseRows, SparseRows
from .expansion import Expansion, expand
from .fields import Number
from .planner import Planned
from .point import Point
from .polarisation import polarisation
from .scheme import Jet, Readout, Scheme
from .table import Plan, PlanRow, ResolvedPlan
from .terms import Factor
from .weighted_jets import WeightedJets

__all__ = [
    "Cost",
    "DenseRows",
    "Expansion",
    "Factor",
    "Jet",
    "Number",
    "Plan",
    "PlanRow",
    "Planned",
    "Point",
    "Readout",
    "ResolvedPlan",
    "Scheme",
    "SparseRows",
    "WeightedJets",
    "expand",
    "polarisation",
]
__dir__ = __all__.copy

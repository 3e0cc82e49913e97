"""Operators: their base classes, sums and products, and the forms their coefficients may have.

The operators themselves are public at the top level: `diffop.Laplacian`.
"""

from ..jets.fields import MatVec, SparseColumns
from ..jets.low_rank import LowRank
from ..terms.term import Part, Segment, Term
from .base import Operator
from .differential import DifferentialOperator
from .estimate import Estimate
from .nonlinear import NonlinearOperator

__all__ = [
    "DifferentialOperator",
    "Estimate",
    "LowRank",
    "MatVec",
    "NonlinearOperator",
    "Operator",
    "Part",
    "Segment",
    "SparseColumns",
    "Term",
]

__dir__ = __all__.copy

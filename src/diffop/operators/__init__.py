"""The algebra: what operators are, what they are made of, and what their coefficients may be. The
operators themselves stand at the top: `diffop.Laplacian`.
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

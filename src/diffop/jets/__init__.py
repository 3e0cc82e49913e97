"""Plans: which jets, with which weights, compute an operator, exactly or in expectation."""

import warnings as _warnings
from typing import Any as _Any

from .cost import Cost as Cost
from .directions import DenseRows as DenseRows, SparseRows as SparseRows
from .expansion import Expansion as Expansion, expand as expand
from .polarisation import polarisation as polarisation
from .scheme import Jet as Jet, Readout as Readout, Scheme as Scheme
from .table import Plan as Plan, PlanRow as PlanRow, ResolvedPlan as ResolvedPlan
from .weighted_jets import WeightedJets as WeightedJets

_RENAMED = {"Sparse": "SparseRows", "Dense": "DenseRows"}


def __getattr__(name: str) -> _Any:
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _RENAMED[name]
    _warnings.warn(f"diffop.jets.{name} is {new} now", DeprecationWarning, stacklevel=2)
    return globals()[new]

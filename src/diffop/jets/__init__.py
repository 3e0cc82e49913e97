"""Plans: which jets, with which weights, compute an operator, exactly or in expectation."""

from .directions import Dense as Dense, Sparse as Sparse
from .polarisation import polarisation as polarisation
from .power_jets import PowerJets as PowerJets
from .table import Plan as Plan, PlanRow as PlanRow, ResolvedPlan as ResolvedPlan

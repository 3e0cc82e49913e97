"""Plans: which jets, with which weights, compute an operator, exactly or in expectation."""

from .cost import Cost as Cost
from .directions import Dense as Dense, Sparse as Sparse
from .expansion import Expansion as Expansion, expand as expand
from .polarisation import polarisation as polarisation
from .scheme import Jet as Jet, Readout as Readout, Scheme as Scheme
from .table import Plan as Plan, PlanRow as PlanRow, ResolvedPlan as ResolvedPlan
from .weighted_jets import WeightedJets as WeightedJets

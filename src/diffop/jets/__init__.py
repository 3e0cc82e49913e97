"""Plans: which jets, with which weights, compute an operator, exactly or in expectation."""

from .cost import Cost as Cost
from .directions import DenseRows as DenseRows, SparseRows as SparseRows
from .expansion import Expansion as Expansion, expand as expand
from .fields import Number as Number
from .planner import Planned as Planned
from .point import Point as Point
from .polarisation import polarisation as polarisation
from .scheme import Jet as Jet, Readout as Readout, Scheme as Scheme
from .table import Plan as Plan, PlanRow as PlanRow, ResolvedPlan as ResolvedPlan
from .terms import Factor as Factor
from .weighted_jets import WeightedJets as WeightedJets

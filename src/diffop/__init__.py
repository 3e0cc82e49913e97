"""diffop: an algebra of differential operators for JAX, exact and stochastic."""

__version__ = "0.2.0"  # its one home: pyproject.toml reads it here

from . import (
    baselines as baselines,
    compat as compat,
    jets as jets,
    nn as nn,
    pde as pde,
    taylor as taylor,
    train as train,
)
from .estimators import before as _before
from .estimators.adaptive import Adaptive as Adaptive
from .estimators.choice import Choice as Choice, Way as Way, choose as choose
from .estimators.control import Controlled as Controlled
from .estimators.deflation import Deflated as Deflated
from .estimators.statistics import Stats as Stats
from .estimators.together import (
    Joint as Joint,
    JointDraws as JointDraws,
    Moments as Moments,
    estimate as estimate,
    exact as exact,
)
from .estimators.variance import Variance as Variance, variance as variance
from .jets import probes as probes
from .jets.fields import MatVec as MatVec, SparseColumns as SparseColumns
from .jets.low_rank import LowRank as LowRank
from .operators.base import Operator as Operator
from .operators.differential import DifferentialOperator as DifferentialOperator
from .operators.divergence_form import DivergenceForm as DivergenceForm
from .operators.elementary import (
    Directional as Directional,
    Identity as Identity,
    Mixed as Mixed,
    Partial as Partial,
)
from .operators.estimate import Estimate as Estimate
from .operators.laplacian import (
    Biharmonic as Biharmonic,
    DiagonalK as DiagonalK,
    Laplacian as Laplacian,
    PolyLaplacian as PolyLaplacian,
)
from .operators.second_order import ParabolicTrace as ParabolicTrace, SecondOrder as SecondOrder
from .operators.tensor import TensorOperator as TensorOperator
from .operators.vector import (
    Component as Component,
    Curl as Curl,
    Divergence as Divergence,
    Gradient as Gradient,
    Hessian as Hessian,
)
from .renamed import old_names as _old_names
from .terms.term import Part as Part, Segment as Segment, Term as Term

_COMPARED = "choose(ops, key, n)(u)(*points)"

__getattr__ = _old_names(
    __name__,
    {
        "evaluate": (_COMPARED, _before.evaluate),
        "Evaluation": (f"Choice, which {_COMPARED} returns", _before.Evaluation),
        "Explanation": (f"Choice, which {_COMPARED} returns", Choice),
        "Pilot": (_COMPARED, _before.Pilot),
        "RankedProbe": (f"Way, of which {_COMPARED} has some", Way),
        "rank_probes": (_COMPARED, _before.rank_probes),
    },
)

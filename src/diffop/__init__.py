"""diffop: an algebra of differential operators for JAX, exact and stochastic."""

from . import (
    baselines as baselines,
    compat as compat,
    jets as jets,
    nn as nn,
    pde as pde,
    taylor as taylor,
    train as train,
)
from .jets import probes as probes
from .jets.fields import MatVec as MatVec, SparseColumns as SparseColumns
from .jets.low_rank import LowRank as LowRank
from .operators.adaptive import Adaptive as Adaptive
from .operators.base import Estimate as Estimate, Operator as Operator
from .operators.choice import (
    Evaluation as Evaluation,
    Explanation as Explanation,
    Pilot as Pilot,
    Way as Way,
    evaluate as evaluate,
)
from .operators.control import Controlled as Controlled
from .operators.deflation import Deflated as Deflated
from .operators.divergence_form import DivergenceForm as DivergenceForm
from .operators.elementary import (
    Directional as Directional,
    Identity as Identity,
    Mixed as Mixed,
    Partial as Partial,
)
from .operators.laplacian import (
    Biharmonic as Biharmonic,
    DiagonalK as DiagonalK,
    Laplacian as Laplacian,
    PolyLaplacian as PolyLaplacian,
)
from .operators.ranking import (
    ProbeRanking as ProbeRanking,
    RankedProbe as RankedProbe,
    rank_probes as rank_probes,
)
from .operators.second_order import ParabolicTrace as ParabolicTrace, SecondOrder as SecondOrder
from .operators.statistics import Stats as Stats
from .operators.tensor import TensorOperator as TensorOperator
from .operators.together import (
    Joint as Joint,
    JointDraws as JointDraws,
    Moments as Moments,
    estimate as estimate,
    exact as exact,
)
from .operators.variance import Variance as Variance, variance as variance
from .operators.vector import (
    Component as Component,
    Curl as Curl,
    Divergence as Divergence,
    Gradient as Gradient,
    Hessian as Hessian,
)

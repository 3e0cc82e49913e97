"""diffop: an algebra of differential operators for JAX, exact and stochastic."""

from . import jets as jets
from . import taylor as taylor
from .jets.fields import MatVec as MatVec
from .operators.base import Estimate as Estimate
from .operators.base import Operator as Operator
from .operators.elementary import (
    Directional as Directional,
)
from .operators.elementary import (
    Identity as Identity,
)
from .operators.elementary import (
    Mixed as Mixed,
)
from .operators.elementary import (
    Partial as Partial,
)
from .operators.laplacian import (
    Biharmonic as Biharmonic,
)
from .operators.laplacian import (
    DiagonalK as DiagonalK,
)
from .operators.laplacian import (
    Laplacian as Laplacian,
)
from .operators.laplacian import (
    PolyLaplacian as PolyLaplacian,
)
from .operators.second_order import ParabolicTrace as ParabolicTrace
from .operators.second_order import SecondOrder as SecondOrder
from .operators.statistics import Stats as Stats
from .operators.tensor import TensorOperator as TensorOperator
from .operators.together import estimate as estimate
from .operators.together import exact as exact
from .operators.vector import Divergence as Divergence
from .operators.vector import Gradient as Gradient

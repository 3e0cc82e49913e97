"""diffop: an algebra of differential operators for JAX, exact and stochastic."""

__version__ = "0.2.0"  # its one home: pyproject.toml reads it here

import importlib as _importlib
import typing as _typing

from . import jets as jets, kernels as kernels, quadrature as quadrature, taylor as taylor
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
from .operators.brackets import commutator as commutator
from .operators.differential import DifferentialOperator as DifferentialOperator
from .operators.divergence_form import DivergenceForm as DivergenceForm
from .operators.elementary import (
    Directional as Directional,
    Identity as Identity,
    Mixed as Mixed,
    Partial as Partial,
)
from .operators.estimate import Estimate as Estimate
from .operators.generator import Generator as Generator
from .operators.integral import Integral as Integral
from .operators.jumps import (
    FractionalLaplacian as FractionalLaplacian,
    JumpGenerator as JumpGenerator,
)
from .operators.laplace_beltrami import LaplaceBeltrami as LaplaceBeltrami
from .operators.laplacian import (
    Biharmonic as Biharmonic,
    DiagonalK as DiagonalK,
    Laplacian as Laplacian,
    PolyLaplacian as PolyLaplacian,
)
from .operators.nonlinear import (
    FunctionOf as FunctionOf,
    NonlinearOperator as NonlinearOperator,
    Value as Value,
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
from .terms.term import Part as Part, Segment as Segment, Term as Term

if _typing.TYPE_CHECKING:
    from . import (
        baselines as baselines,
        compat as compat,
        nn as nn,
        pde as pde,
        train as train,
    )

_LATER = ("baselines", "compat", "nn", "pde", "train")
"""Rooms that are imported when they are asked for: operators need none of them."""


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})

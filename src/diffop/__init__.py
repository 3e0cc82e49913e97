"""diffop: an algebra of differential operators for JAX, exact and stochastic."""

__version__ = "0.2.0"  # the only place: pyproject.toml reads it here

import importlib as _importlib
import sys as _sys
import typing as _typing

from . import estimators, jets, kernels, operators, probes, quadrature, schemes, taylor
from .estimators.choice import choose
from .estimators.together import estimate, exact
from .estimators.variance import variance
from .operators.brackets import commutator
from .operators.divergence_form import DivergenceForm
from .operators.elementary import Directional, Identity, Mixed, Partial
from .operators.generator import Generator
from .operators.integral import Integral
from .operators.jumps import FractionalLaplacian, JumpGenerator
from .operators.laplace_beltrami import LaplaceBeltrami
from .operators.laplacian import Biharmonic, DiagonalK, Laplacian, PolyLaplacian
from .operators.nonlinear import FunctionOf, Value
from .operators.second_order import ParabolicTrace, SecondOrder
from .operators.tensor import TensorOperator
from .operators.vector import Component, Curl, Divergence, Gradient, Hessian

if _typing.TYPE_CHECKING:
    from . import baselines, compat, equations, losses, methods, nn, pde, train

_LATER = ("baselines", "compat", "equations", "losses", "methods", "nn", "pde", "train")
"""Rooms that are imported when they are first used: operators need none of them."""

__all__ = [
    # operators
    "Biharmonic",
    "Component",
    "Curl",
    "DiagonalK",
    "Directional",
    "Divergence",
    "DivergenceForm",
    "FractionalLaplacian",
    "FunctionOf",
    "Generator",
    "Gradient",
    "Hessian",
    "Identity",
    "Integral",
    "JumpGenerator",
    "LaplaceBeltrami",
    "Laplacian",
    "Mixed",
    "ParabolicTrace",
    "Partial",
    "PolyLaplacian",
    "SecondOrder",
    "TensorOperator",
    "Value",
    "commutator",
    # what is done with them
    "choose",
    "estimate",
    "exact",
    "variance",
    # rooms
    "baselines",
    "compat",
    "equations",
    "estimators",
    "jets",
    "kernels",
    "losses",
    "methods",
    "nn",
    "operators",
    "pde",
    "probes",
    "quadrature",
    "schemes",
    "taylor",
    "train",
]


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        message = f"module {__name__!r} has no attribute {name!r}{_room_of(name)}"
        raise AttributeError(message, name=name, obj=_sys.modules[__name__])  # "Did you mean …?"
    return _importlib.import_module(f"{__name__}.{name}")


def _room_of(name: str) -> str:
    """Where a name is, for the error of those who miss it here. Tools ask for names with
    underscores, and need no room.
    """
    if name.startswith("_"):
        return ""
    found = [__getattr__(each) if each in _LATER else globals()[each] for each in __all__]
    where = [room.__name__ for room in found if name in getattr(room, "__all__", ())]
    return f"; it is {' or '.join(f'{room}.{name}' for room in where)}" if where else ""


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

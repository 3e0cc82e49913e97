"""Equinox modules for networks that solve PDEs: architectures, inputs, hard constraints, PINNs."""

from .boundary import (
    HardConstraint,
    InitialCondition,
    ZeroOnUnitSphere,
)
from .embeddings import FourierFeatures, MappedInput, PeriodicInput
from .modified_mlp import ModifiedMLP
from .pinn import PINN
from .scaling import (
    Anchored,
    BoxInput,
    Curved,
    JoinedInput,
    ScaledInput,
    ScaledOutput,
)
from .sliding import SlidingMLP
from .weight_sharing import WeightSharedMLP

__all__ = [
    "Anchored",
    "BoxInput",
    "Curved",
    "FourierFeatures",
    "HardConstraint",
    "InitialCondition",
    "JoinedInput",
    "MappedInput",
    "ModifiedMLP",
    "PINN",
    "PeriodicInput",
    "ScaledInput",
    "ScaledOutput",
    "SlidingMLP",
    "WeightSharedMLP",
    "ZeroOnUnitSphere",
]

__dir__ = __all__.copy

"""Equinox modules for networks that solve PDEs: architectures, inputs, hard constraints, PINNs."""

from ..equations.equation import AbstractEquation as AbstractEquation, Equation as Equation
from .boundary import (
    HardConstraint as HardConstraint,
    InitialCondition as InitialCondition,
    ZeroOnUnitSphere as ZeroOnUnitSphere,
)
from .embeddings import FourierFeatures as FourierFeatures, PeriodicInput as PeriodicInput
from .modified_mlp import ModifiedMLP as ModifiedMLP
from .pinn import PINN as PINN
from .scaling import (
    Anchored as Anchored,
    BoxInput as BoxInput,
    Curved as Curved,
    JoinedInput as JoinedInput,
    ScaledInput as ScaledInput,
    ScaledOutput as ScaledOutput,
)
from .weight_sharing import WeightSharedMLP as WeightSharedMLP

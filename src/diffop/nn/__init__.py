"""Equinox modules for networks that solve PDEs: architectures, inputs, hard constraints, PINNs."""

from ..equations.equation import AbstractEquation as AbstractEquation, Equation as Equation
from ._boundary import (
    HardConstraint as HardConstraint,
    InitialCondition as InitialCondition,
    ZeroOnUnitSphere as ZeroOnUnitSphere,
)
from ._embeddings import FourierFeatures as FourierFeatures, PeriodicInput as PeriodicInput
from ._modified_mlp import ModifiedMLP as ModifiedMLP
from ._pinn import PINN as PINN
from ._scaling import (
    BoxInput as BoxInput,
    JoinedInput as JoinedInput,
    ScaledInput as ScaledInput,
    ScaledOutput as ScaledOutput,
)
from ._weight_sharing import WeightSharedMLP as WeightSharedMLP

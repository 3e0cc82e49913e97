"""Equinox modules for networks that solve PDEs: boundary conditions and input scales."""

from ._boundary import ZeroOnUnitSphere as ZeroOnUnitSphere
from ._scaling import BoxInput as BoxInput, ScaledInput as ScaledInput

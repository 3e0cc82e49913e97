"""`folx.api`: the results of `forward_laplacian`, and the names for its rules."""

from .arguments import FwdLaplArgs as FwdLaplArgs
from .arrays import FwdJacobian as FwdJacobian, FwdLaplArray as FwdLaplArray
from .flags import FunctionFlags as FunctionFlags

JAC_DIM = 0
"""The axis of a Jacobian that numbers coordinates."""

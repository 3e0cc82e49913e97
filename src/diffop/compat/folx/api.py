"""What folx has in `folx.api`: the results of `forward_laplacian`, and words for its rules."""

from .arguments import FwdLaplArgs as FwdLaplArgs
from .arrays import FwdJacobian as FwdJacobian, FwdLaplArray as FwdLaplArray
from .flags import FunctionFlags as FunctionFlags

JAC_DIM = 0
"""The axis of a Jacobian along which coordinates lie."""

"""What folx has in `folx.api`: the results of `forward_laplacian`."""

from .arrays import FwdJacobian as FwdJacobian, FwdLaplArray as FwdLaplArray

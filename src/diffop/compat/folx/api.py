"""What folx has in `folx.api`: the results of `forward_laplacian`."""

from ._arrays import FwdJacobian as FwdJacobian, FwdLaplArray as FwdLaplArray

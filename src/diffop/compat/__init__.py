"""Other packages' interfaces, computed here: a program changes its import and nothing else."""

from . import folx, fwdlap, jet

__all__ = ["folx", "fwdlap", "jet"]
__dir__ = __all__.copy

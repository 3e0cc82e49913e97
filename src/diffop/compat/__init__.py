"""Other packages' interfaces, computed here: a program changes its import and nothing else."""

from . import folx, fwdlap, jet

__all__ = ["folx", "fwdlap", "jet"]


def __dir__() -> list[str]:
    return __all__

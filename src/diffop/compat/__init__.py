"""Interfaces of other packages, computed by diffop: a program changes only its import."""

from . import folx, fwdlap, jet

__all__ = ["folx", "fwdlap", "jet"]

__dir__ = __all__.copy

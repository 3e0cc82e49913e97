"""Other packages' interfaces, computed here: a program changes its import and nothing else."""

from . import folx as folx, fwdlap as fwdlap, jet as jet

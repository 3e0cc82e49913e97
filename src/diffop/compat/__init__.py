"""Other packages' interfaces, computed here: a program changes its import and nothing else."""

from . import folx as folx, jet as jet

"""Probes: kinds of random jets, with their moments."""

from ..jets.design import Design, Stratum
from ..jets.terms import Target
from .base import (
    AbstractDenseProbe,
    AbstractProbe,
    Draw,
    Drawn,
)
from .by_term import AbstractTermProbe, Selection
from .dense import (
    Gaussian,
    Orthogonal,
    Rademacher,
    Spherical,
)
from .names import NAMED, as_probe
from .roots import Roots
from .running import RunningMagnitudes
from .shifted import Shifted
from .sparse import Importance, Sparse
from .strata import Split, Stratified, Systematic

__all__ = [
    "AbstractDenseProbe",
    "AbstractProbe",
    "AbstractTermProbe",
    "Design",
    "Draw",
    "Drawn",
    "Gaussian",
    "Importance",
    "NAMED",
    "Orthogonal",
    "Rademacher",
    "Roots",
    "RunningMagnitudes",
    "Selection",
    "Shifted",
    "Sparse",
    "Spherical",
    "Split",
    "Stratified",
    "Stratum",
    "Systematic",
    "Target",
    "as_probe",
]

__dir__ = __all__.copy

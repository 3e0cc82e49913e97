"""Kinds of random jets, with their moments."""

from ..design import Design as Design, Stratum as Stratum
from ..terms import Target as Target
from .base import (
    AbstractDenseProbe as AbstractDenseProbe,
    AbstractProbe as AbstractProbe,
    Draw as Draw,
    Drawn as Drawn,
)
from .by_term import AbstractTermProbe as AbstractTermProbe, Selection as Selection
from .dense import (
    Gaussian as Gaussian,
    Orthogonal as Orthogonal,
    Rademacher as Rademacher,
    Sphere as Sphere,
)
from .names import NAMED as NAMED, as_probe as as_probe
from .roots import Roots as Roots
from .running import RunningMagnitudes as RunningMagnitudes
from .shifted import Shifted as Shifted
from .sparse import Importance as Importance, Sparse as Sparse
from .strata import Split as Split, Stratified as Stratified, Systematic as Systematic

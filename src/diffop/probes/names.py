"""Probes by name."""

from typing import Any

from ..nearest import nearest
from .base import AbstractProbe
from .dense import Gaussian, Orthogonal, Rademacher, Spherical
from .roots import Roots
from .shifted import Shifted
from .sparse import Sparse
from .strata import Stratified, Systematic

NAMED: dict[str, AbstractProbe] = {
    "auto": Sparse(),
    "sparse": Sparse(),
    "stratified": Stratified(),
    "systematic": Systematic(),
    "rademacher": Rademacher(),
    "gaussian": Gaussian(),
    "spherical": Spherical(),
    "orthogonal": Orthogonal(),
    "roots": Roots(),
    "shifted": Shifted(),
}
"""The probes that need no arguments. Which is best for a u is not known without looking at u
(`diffop.choose` does): "auto" is "sparse", which is unbiased for everything.
"""


def as_probe(probes: Any) -> AbstractProbe:
    """A probe from itself or its name.

    **Raises:** `ValueError` for an unknown name, `TypeError` for anything else.
    """
    if isinstance(probes, AbstractProbe):
        return probes
    if isinstance(probes, str) and probes in NAMED:
        return NAMED[probes]
    kind = ValueError if isinstance(probes, str) else TypeError
    raise kind(
        f"probes must be one of {', '.join(NAMED)}{nearest(probes, NAMED)}, or one of "
        f"diffop.probes such as diffop.probes.Importance(weights); got {probes!r}. Hutchinson's "
        "signs are rademacher."
    )

"""The settings that suit the problems with sums on the unit ball, by their dimension.

Coordinates of points are about 1/√d. A solution is one number times 1 − |x|², and what is beyond
that: linear in the coordinates at first for two bodies, and of third order for three.
"""

import math
from functools import partial

from ..recommended import MUON, ByDimension, Recommended

_ANCHORED_FROM = {2: 300, 3: 1000}
"""By the number of bodies. From here on a two-body solution is nearly one number, a slope and a
mean curvature; and a three-body one is one number to six digits or more.
"""

_CURVED_TO = 300_000
"""Beyond, the mean curvature, which is the one number divided by d, is not missed."""

_CUBIC_FROM = 10
"""Below, small networks learn all of a solution."""

_scaled = partial(Recommended, output_scale="source")
"""The source tells the size of the solution, which grows with the dimension."""


def _anchored(dim: int) -> Recommended:
    """A parameter for the one number, another for the mean curvature, and a small network for what
    is beyond them, which is nearly linear.
    """
    return _scaled(
        steps=400,
        n=4,
        batch=4,
        width=64,
        depth=1,
        learning_rate=1e-2,
        # |∇R|² is far larger than R², since a point has many coordinates
        gpinn=1e-2,
        # Signs forget at once how large gradients were at first, when all was missed.
        optimiser="sign-sgd",
        # The first layer learns at 3e-3 in any dimension: the bound is over √d.
        fan_in_rate=_two_digits(3e-3 * math.sqrt(dim)),
        anchor="source",
        # From there on it is smaller than what training leaves, and only wanders.
        curvature=0.0 if dim <= _CURVED_TO else None,
    )


def _many_body(bodies: int, dim: int) -> Recommended:
    if dim < _CUBIC_FROM:
        return _small(dim)
    return _cubic(dim) if dim < _ANCHORED_FROM[bodies] else _anchored(dim)


def _cubic(dim: int) -> Recommended:
    """A wide layer for what is of second and third order, where coordinates are about 1 for the
    network.
    """
    return _scaled(
        steps=3000,
        batch=50,
        width=512,
        depth=1,
        input_scale=_root(dim),
        learning_rate=2e-2,
        probes="exact",
        optimiser="muon",
        schedule="cosine",
        gpinn=0.1,
        anchor="source",
    )


def _small(dim: int) -> Recommended:
    """Many cheap steps, with all jets."""
    return MUON(steps=6000, input_scale=_root(dim), gpinn=1.0)


def lattice(period: int) -> Recommended:
    """What suits a lattice, in any dimension: cells that are seen alike and summed have the same
    few parameters for any number of cells, and twenty steps of least squares find these.

    **Arguments:**

    - `period`: how many coordinates a cell has. Where the dimension is no multiple of it, the last
        block is filled up.

    **Returns:** the settings.
    """
    return _scaled(
        dim=10_000,
        steps=20,
        batch=40,
        n=32,
        width=16,
        depth=2,
        optimiser="levenberg-marquardt",
        block=period,
        channels=4,
        sharing="summed",
    )


def _root(dim: int) -> float:
    """√d, by which coordinates are about 1 for the network."""
    return float(round(math.sqrt(dim)))


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


TWO_BODY = ByDimension(1000, partial(_many_body, 2))

# In few coordinates more than a number is to be learnt; in 1000, as the paper has them, nothing is.
THREE_BODY = ByDimension(5, partial(_many_body, 3))

"""Recommended settings for the problems with sums on the unit ball, by their dimension.

Coordinates of points are about 1/√d. A solution is one number times 1 − |x|², plus a remainder,
which is linear in the coordinates at first for two bodies, and of third order for three.
"""

import math
from functools import partial

from ..recommended import LEAST_SQUARES, MUON, ByDimension, Recommended

_ANCHORED_FROM = {2: 300, 3: 1000}
"""By the number of bodies. From this dimension on a two-body solution is nearly one number, a slope
and a mean curvature; a three-body solution is one number to six digits or more.
"""

_CURVED_TO = 300_000
"""Above this, the mean curvature, which is the one number divided by d, can be left out."""

_CUBIC_FROM = 10
"""Below this, small networks learn the whole solution."""

_PLAIN_TO = 3
"""Up to this dimension a thousand residuals show a small network all of the solution."""

_scaled = partial(Recommended, output_scale="source")
"""The source gives the size of the solution, which grows with the dimension."""


def _anchored(dim: int) -> Recommended:
    """A parameter for the one number, another for the mean curvature, and a small network for the
    remainder, which is nearly linear.
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
        # Steps by signs forget at once how large gradients were in the beginning.
        optimiser="sign-sgd",
        # The first layer learns at 3e-3 in any dimension: the bound is over √d.
        fan_in_rate=_two_digits(3e-3 * math.sqrt(dim)),
        anchor="source",
        # From there on it is smaller than the error after training, and only fluctuates.
        curvature=0.0 if dim <= _CURVED_TO else None,
    )


def _many_body(bodies: int, dim: int) -> Recommended:
    if dim < _CUBIC_FROM:
        return _small(dim)
    return _cubic(dim) if dim < _ANCHORED_FROM[bodies] else _anchored(dim)


def _cubic(dim: int) -> Recommended:
    """A wide layer for terms of second and third order, with coordinates scaled to about 1 for the
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
    """Least-squares steps in space and below; above, many cheap steps, with all jets."""
    if dim <= _PLAIN_TO:
        return LEAST_SQUARES(steps=200, batch=1000, width=24, depth=2, input_scale=_root(dim))
    return MUON(steps=6000, input_scale=_root(dim), gpinn=1.0)


def lattice(period: int) -> Recommended:
    """Settings for a lattice, in any dimension. Cells that share weights and are summed have the
    same few parameters for any number of cells, and twenty least-squares steps find these.

    **Arguments:**

    - `period`: how many coordinates a cell has. If the dimension is not a multiple of it, the last
        block is padded.

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
    """√d, which scales coordinates to about 1 for the network."""
    return float(round(math.sqrt(dim)))


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


TWO_BODY = ByDimension(1000, partial(_many_body, 2))

# In few coordinates more than a number has to be learnt; in 1000, the paper's choice, nothing more.
THREE_BODY = ByDimension(5, partial(_many_body, 3))

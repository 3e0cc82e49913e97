"""The settings that suit the problems with sums on the unit ball, by their dimension.

Coordinates of points are about 1/√d. A solution is one number times 1 − |x|², and what is beyond
that: linear in the coordinates at first for two bodies, and of third order for three.
"""

import math
from functools import partial

from ..recommended import MUON, ByDimension, Recommended

_ANCHORED_FROM = 3000
"""From here on nearly all of a two-body solution is one number, which is worth a parameter of its
own; below, what the rest of the network has to learn is not small beside it.
"""

_ONE_NUMBER_FROM = 1000
"""From here on a three-body solution is one number to six digits or more, and what is beyond is as
small as what training leaves.
"""

_CUBIC_FROM = 20
"""Below, three-body solutions differ from one number by percents, and small networks learn them."""

_scaled = partial(Recommended, output_scale="source")
"""The source tells the size of the solution, which grows with the dimension."""


def _two_body(dim: int) -> Recommended:
    return _anchored(dim) if dim >= _ANCHORED_FROM else _whole_gradient(dim)


def _whole_gradient(dim: int) -> Recommended:
    """Few points that tell d numbers each: the residual's gradient sees every coordinate."""
    return _scaled(
        steps=2000,
        n=32,
        batch=10,
        # Larger coordinates shorten the plateau at the null model. It was chosen by hand in 1000
        # dimensions, where it is 5, and grows as coordinates shrink; in few they are large enough.
        input_scale=max(2.0, _two_digits(math.sqrt(dim / 40))),
        learning_rate=3e-3,
        gpinn=1.0,
        fan_in_rate=0.1,
    )


def _anchored(dim: int) -> Recommended:
    """A parameter for the one number, and a small network for what is beyond it."""
    return _scaled(
        steps=400,
        n=4,
        batch=4,
        width=64,
        depth=1,
        learning_rate=1e-2,
        gpinn=1e-3,  # |∇R|² is far larger than R², since a point has many coordinates
        # The first layer learns at 3e-3 in any dimension: the bound is over √d.
        fan_in_rate=_two_digits(3e-3 * math.sqrt(dim)),
        anchor="source",
    )


def _three_body(dim: int) -> Recommended:
    if dim >= _ONE_NUMBER_FROM:
        return _anchored(dim)  # whose parameter is that number
    return _cubic(dim) if dim >= _CUBIC_FROM else _small(dim)


def _cubic(dim: int) -> Recommended:
    """A wide layer for what is of third order, where coordinates are about 1 for the network."""
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


TWO_BODY = ByDimension(1000, _two_body)

# From 1000 dimensions on, as the paper has them, nothing is left to learn beyond one number.
THREE_BODY = ByDimension(100, _three_body)

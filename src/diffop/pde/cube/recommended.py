"""The settings that suit the problems on a cube, by their dimension."""

from functools import partial

from ..recommended import LEAST_SQUARES, ByDimension, Recommended


def _sliding(steps: int, dim: int) -> Recommended:
    """Least squares for a network that goes along the coordinates, with 1.6 to 3 points, those of
    faces among them, for each of its weights.
    """
    return LEAST_SQUARES(
        steps=steps,
        batch=max(1000, 5 * dim // 2),
        data_batch=max(500, dim),
        data_weight=100.0,
        width=16,
        depth=1,
        block=2,
        channels=4 if dim <= 200 else 2,
        sharing="sliding",
    )


ELLIPTIC = ByDimension(100, partial(_sliding, 60))
HEAT = ByDimension(100, partial(_sliding, 60))

"""Values and draws of factors that see all of u."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..jets.design import Design, Stratum
from ..jets.point import Point
from ..probes.base import Draw
from ..streams import streams
from .nonlocal_terms import Nonlocal, mapped_in_chunks
from .term import Segment


def nonlocal_value(
    factor: Nonlocal, u: Callable[..., PyTree], point: Point, draw: Draw | None, per_draw: bool
) -> PyTree:
    """The value of the factor for u at a point, by its rule or from draws. With `per_draw` the
    contributions of draws, along a leading axis.
    """
    factor.count(point)  # checks that it fits the point
    if draw is None or not factor.drawn:
        return factor.exact(u, point)
    keys = streams(draw.stream, "draw of all of u", draw.n)
    found = mapped_in_chunks(lambda key: factor.one(key, u, point), keys, point.chunk)
    means = jax.tree.map(lambda leaf: leaf / draw.n, found)
    return means if per_draw else jax.tree.map(partial(jnp.sum, axis=0), means)


def design_of(segment: Segment, draw: Draw | None) -> Design | None:
    """How a factor that sees all of u is drawn; None for other factors and if nothing is drawn."""
    if draw is None or not segment.all_drawn:
        return None
    return Design("draws of all of u", (Stratum(draw.n),))


def evaluations_of(segment: Segment, draw: Draw | None) -> int:
    """How many points or jets of u the draws of such a factor take; 0 for others."""
    drawn = [each for each in segment.factors if isinstance(each, Nonlocal) and each.drawn]
    return 0 if draw is None else sum(draw.n * each.evaluations for each in drawn)

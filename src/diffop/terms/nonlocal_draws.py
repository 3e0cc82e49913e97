"""What factors that see all of u are evaluated to, and how they are drawn."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..jets.design import Design, Stratum
from ..jets.point import Point
from ..jets.probes.base import Draw
from ..streams import streams
from .nonlocal_terms import Nonlocal, mapped
from .term import Segment


def value_of(
    factor: Nonlocal, u: Callable[..., PyTree], point: Point, draw: Draw | None, per_draw: bool
) -> PyTree:
    """What the factor makes of u at a point: by its rule, or from draws. With `per_draw` their
    contributions, along a leading axis.
    """
    factor.count(point)  # it fits the point
    if draw is None:
        return factor.exact(u, point)
    keys = streams(draw.stream, "draw of all of u", draw.n)
    found = mapped(lambda key: factor.one(key, u, point), keys, point.chunk)
    means = jax.tree.map(lambda leaf: leaf / draw.n, found)
    return means if per_draw else jax.tree.map(partial(jnp.sum, axis=0), means)


def nonlocal_of(segment: Segment) -> Nonlocal | None:
    """The factor of a segment, where it sees all of u."""
    factor = segment.factors[0] if segment.factors else None
    return factor if isinstance(factor, Nonlocal) else None


def design_of(segment: Segment, draw: Draw | None) -> Design | None:
    """How such a factor is drawn; None for others, and where nothing is."""
    if draw is None or nonlocal_of(segment) is None:
        return None
    return Design("draws of all of u", (Stratum(draw.n),))


def evaluations_of(segment: Segment, draw: Draw | None) -> int:
    """How many points or jets of u the draws of such a factor take; 0 for others."""
    factor = nonlocal_of(segment)
    return 0 if factor is None or draw is None else draw.n * factor.evaluations

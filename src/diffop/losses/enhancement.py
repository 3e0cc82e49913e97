"""Gradient enhancement (gPINN): the coordinates along which a loss differentiates its residual, and
the weight of the squares.

The whole gradient is a reverse pass over the residual. Alternatively some of its terms are computed
by jets. Each term is as likely as any other, so the mean of their scaled sum is the whole.
"""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from ..equations.points import Points, arguments, coordinates_per_point
from ..operators.base import Operator
from ..operators.elementary import Partial
from ..streams import stream

OneCoordinate: TypeAlias = int | Int[Array, ""]
"""A Python number, or a traced one if it is random, counted through all arguments of u."""

Coordinates: TypeAlias = Sequence[OneCoordinate]


@final
class Enhancement(NamedTuple):
    """The derivatives of the residual in a loss.

    - `weight`: of the squares of all of them; 0 for none.
    - `terms`: None for all, by reverse mode; or how many are computed by jets.
    """

    weight: int | float
    terms: int | None

    @property
    def whole(self) -> bool:
        """Whether all are computed by reverse mode."""
        return bool(self.weight) and self.terms is None

    @property
    def by_jets(self) -> bool:
        """Whether some or all are computed by jets."""
        return bool(self.weight) and self.terms is not None

    def coordinates(self, points: Points, key: PRNGKeyArray) -> Coordinates:
        """The coordinates of the derivatives by jets; random if these are not all coordinates."""
        size, terms = coordinates_per_point(points), self.terms
        if not self.by_jets or terms is None:
            return ()
        if terms >= size:
            return tuple(range(size))
        first = jax.random.randint(stream(key, "coordinates"), (), 0, size)
        return spread(first, size, terms)

    def weight_at(self, points: Points) -> float:
        """The weight of the squares of the computed derivatives."""
        size = coordinates_per_point(points)
        return self.weight * (size / min(self.terms or size, size))


def spread(first: int | Int[Array, ""], dim: int, terms: int) -> Coordinates:
    """`terms` different coordinates out of `dim`, equally spaced from the first one on.

    Over all first ones each coordinate occurs equally often.
    """
    return tuple((first + k * dim // terms) % dim for k in range(terms))


def derivative_with_respect_to(coordinate: OneCoordinate, points: Points) -> Operator:
    """The derivative along a coordinate of points.

    When a program is made it is not known to which argument a random coordinate belongs. So the
    derivative is computed in every argument, and one of them counts.
    """
    sizes = [coordinates_per_point(argument) for argument in arguments(points)]
    if len(sizes) == 1:
        return Partial(coordinate)
    firsts = np.cumsum([0, *sizes])
    if isinstance(coordinate, int):
        argnum = int(np.searchsorted(firsts, coordinate, side="right")) - 1
        return Partial(coordinate - int(firsts[argnum]), argnum=argnum)
    places = [coordinate - first for first in firsts[:-1].tolist()]
    derivatives = [
        jnp.where((place >= 0) & (place < size), 1.0, 0.0)
        * Partial(jnp.clip(place, 0, size - 1), argnum=argnum)
        for argnum, (place, size) in enumerate(zip(places, sizes, strict=True))
    ]
    return reduce(operator.add, derivatives)

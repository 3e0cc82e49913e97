"""Gradient enhancement (gPINN): along which coordinates a loss has derivatives of its residual, and
what their squares weigh.

The whole gradient is a reverse pass over the residual. By jets a number of its terms is taken, each
as likely as any other, so that the mean of their scaled sum is the whole.
"""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from ..equations.points import Points, arguments, size_of
from ..operators.base import Operator
from ..operators.elementary import Partial
from ..streams import stream

Coordinate: TypeAlias = int | Int[Array, ""]
"""A Python number, or a traced one where it is random, counted through all arguments of u."""

Coordinates: TypeAlias = Sequence[Coordinate]


@final
class Enhancement(NamedTuple):
    """The derivatives of the residual that a loss has.

    - `weight`: of the squares of all of them; 0 for none.
    - `terms`: None for all, by reverse mode; or how many are taken by jets.
    """

    weight: int | float
    terms: int | None

    @property
    def whole(self) -> bool:
        """Whether all are taken by reverse mode."""
        return bool(self.weight) and self.terms is None

    @property
    def by_jets(self) -> bool:
        """Whether some are, or all, by jets."""
        return bool(self.weight) and self.terms is not None

    def coordinates(self, points: Points, key: PRNGKeyArray) -> Coordinates:
        """Those of the derivatives by jets, random where they are not all."""
        size, terms = size_of(points), self.terms
        if not self.by_jets or terms is None:
            return ()
        if terms >= size:
            return tuple(range(size))
        first = jax.random.randint(stream(key, "coordinates"), (), 0, size)
        return spread(first, size, terms)

    def weight_at(self, points: Points) -> float:
        """Of the squares of those that are taken."""
        size = size_of(points)
        return self.weight * (size / min(self.terms or size, size))


def spread(first: int | Int[Array, ""], dim: int, terms: int) -> Coordinates:
    """`terms` different coordinates of `dim`, equally far apart from the first one on.

    Over all first ones each coordinate occurs equally often.
    """
    return tuple((first + k * dim // terms) % dim for k in range(terms))


def along(coordinate: Coordinate, points: Points) -> Operator:
    """The derivative along a coordinate of points.

    Which argument a random coordinate belongs to is not known when programs are made: of all of
    them the derivative is taken, and of one it counts.
    """
    sizes = [size_of(argument) for argument in arguments(points)]
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

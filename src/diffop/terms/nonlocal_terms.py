"""Factors that see all of u, not only its derivatives at the point: integrals and jumps.

Such a factor is a linear functional of u at each point, given by two functions: a fixed rule, if
there is one, and one draw, an unbiased estimate from its own key. An estimate is the mean of n
draws. They are independent, and draw number r of every factor comes from one key. So all factors of
an estimate share one design: the variance of their sum is that of the sums of their draws.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from ..array_types import Key, Vector
from ..jets.point import Point
from ..jets.terms import Located

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


class Nonlocal(Located):
    """A factor that reads u at other points, in some or all coordinates of one argument. It is
    alone in its segment, since it is not known to commute with anything.
    """

    rank: ClassVar[int] = 0
    constant: ClassVar[bool] = False
    number: ClassVar[None] = None

    drawn: eqx.AbstractVar[bool]
    """Whether estimates draw it, or use its rule."""
    by: AbstractClassVar[str]
    """How `.exact` computes it, for the table of a plan."""

    @abstractmethod
    def exact(self, u: Callable[..., PyTree], point: Point) -> PyTree:
        """Its value by a fixed rule.

        **Raises:** if there is no rule.
        """

    @abstractmethod
    def one(self, key: Key, u: Callable[..., PyTree], point: Point) -> PyTree:
        """An unbiased estimate of its value, from one draw."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """How many points or jets of u a draw takes."""

    def coordinates(self, point: Point) -> Vector:
        """The coordinates of the argument on which it acts, as a vector."""
        flat = ravel_pytree(point.args[self.argnum])[0]
        return flat if self.dims is None else flat[self.positions(point)]

    def at(self, coordinates: Vector, point: Point) -> Point:
        """The point with these coordinates replaced."""
        flat, unravel = ravel_pytree(point.args[self.argnum])
        values = coordinates.astype(flat.dtype)
        if self.dims is not None:
            values = flat.at[self.positions(point)].set(values, unique_indices=True)
        return point.replaced(self.argnum, unravel(values))


def mapped_in_chunks(function: Callable[..., PyTree], values: PyTree, chunk: int | None) -> PyTree:
    """A function applied to many values, at most `chunk` at once."""
    if chunk is None:
        return jax.vmap(function)(values)
    return jax.lax.map(function, values, batch_size=chunk)

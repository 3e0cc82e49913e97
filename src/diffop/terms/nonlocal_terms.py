"""Factors that see all of u, where others see its derivatives at the point: integrals, jumps.

Such a factor is a linear functional of u at each point, known by two things: a fixed rule for it,
where there is one, and one draw, an unbiased estimate from a key of its own. An estimate is the
mean of n draws. They are independent, and draw number r of every factor is made from one key, so
that all factors of an estimate share one design: their sums vary as the sums of their draws do.
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
    """A factor that reads u at other points, in some or all coordinates of one argument. It stands
    alone in its segment, since it commutes with nothing that is known here.
    """

    rank: ClassVar[int] = 0
    constant: ClassVar[bool] = False
    number: ClassVar[None] = None

    drawn: eqx.AbstractVar[bool]
    """Whether estimates draw it, or keep to its rule."""
    by: AbstractClassVar[str]
    """What `.exact` is by, in the table of a plan."""

    @abstractmethod
    def exact(self, u: Callable[..., PyTree], point: Point) -> PyTree:
        """Its value by a fixed rule.

        **Raises:** where there is none.
        """

    @abstractmethod
    def one(self, key: Key, u: Callable[..., PyTree], point: Point) -> PyTree:
        """An unbiased estimate of its value, from one draw."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """How many points or jets of u a draw takes."""

    def count(self, point: Point) -> int:
        return self.dimension(point)

    def coordinates(self, point: Point) -> Vector:
        """Those of the argument that it acts on, as a vector."""
        flat = ravel_pytree(point.args[self.argnum])[0]
        return flat if self.dims is None else flat[self.positions(point)]

    def at(self, coordinates: Vector, point: Point) -> Point:
        """The point with these in their place."""
        flat, unravel = ravel_pytree(point.args[self.argnum])
        values = coordinates.astype(flat.dtype)
        moved = values if self.dims is None else flat.at[self.positions(point)].set(values)
        before, after = point.args[: self.argnum], point.args[self.argnum + 1 :]
        args = (*before, unravel(moved), *after)
        return Point(args, point.kwargs, point.chunk, point.plan)


def mapped(function: Callable[..., PyTree], values: PyTree, chunk: int | None) -> PyTree:
    """A function of each of many values, of so many at once."""
    if chunk is None:
        return jax.vmap(function)(values)
    return jax.lax.map(function, values, batch_size=chunk)

"""Domains with a known inside, which can be combined and have points on their whole boundary."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...nn.point import check_point
from ...quadrature import AbstractRegion, Limits, Within
from ..sampling.box import points_in_box
from ..sampling.lines import on_level_set
from ..sampling.rejection import restricted
from .domain import AbstractDomain, AbstractPart

if TYPE_CHECKING:
    from .combined import Combined

Bounds: TypeAlias = tuple[tuple[int | float, ...], tuple[int | float, ...]]
"""The lower and the upper ends of a box."""


class AbstractShape(AbstractDomain):
    """A domain that is the set of points with `level(x) < 0`.

    Shapes combine to shapes: `a | b` are the points of either, `a & b` those of both, `a - b` those
    of a that are not in b, and `~b` all points not in b, for use with `&`. Points inside are
    uniform, and points on the boundary are uniform by area (on that of a `diffop.pde.Box` alone,
    each has a random face).

    - `bounds`: the lower and the upper ends of a box around it.
    - `log_area`: the logarithm of the area of its boundary, in two coordinates of a length; None if
        it is not known.

    A subclass is final, has a `dim`, and defines `bounds` and `level`. If it knows `log_area`, it
    defines `surface`, too.

    !!! example

        ```python
        import jax
        import diffop as do

        plate = do.pde.Box((0.0, 0.0), (2.0, 1.0)) - do.pde.Ball(2, 0.2, center=(0.5, 0.5))
        plate.sample(jax.random.key(0), 100)  # (100, 2)
        hole = plate.boundary.where(lambda x: abs(x[0] - 0.5) < 0.3)
        hole = hole.where(lambda x: abs(x[1] - 0.5) < 0.3)
        hole.sample(jax.random.key(1), 100)  # on the circle
        ```
    """

    if TYPE_CHECKING:  # an annotated field would be in all constructors

        @property
        def dim(self) -> int: ...
    else:
        dim: eqx.AbstractVar[int]

    @property
    @abstractmethod
    def bounds(self) -> Bounds:
        """The lower and the upper ends of a box around it."""

    @abstractmethod
    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """Negative inside, positive outside. On the boundary its gradient points along the outward
        normal.
        """

    def side(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """Any number with the sign of the level, if one is known that costs less."""
        return self.level(x)

    @property
    def log_area(self) -> float | None:
        """The logarithm of the area of the boundary, which itself may be out of range in many
        coordinates; None if it is not known.
        """
        return None

    @property
    def area(self) -> float | None:
        """The area of the boundary; None if it is not known."""
        if self.log_area is None:
            return None
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_area))

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform on the boundary by area. They are crossings with random lines, so
        this is for a few dimensions.
        """
        return on_level_set(key, count, self.side, *self.bounds)

    def pieces(self) -> tuple["Piece", ...]:
        """The pieces of the boundary."""
        return (Piece(self),)

    def contains(self, x: Float[Array, " dim"]) -> Bool[Array, ""]:
        """Whether a point is inside.

        **Raises:** `ValueError` for anything but one point.
        """
        return self.side(check_point(type(self).__name__, x, self.dim)) < 0

    def _covers(self, x: Float[Array, " dim"]) -> Bool[Array, ""]:
        """Whether a point is inside or on the boundary. The level is zero, too, where shapes of a
        union touch.
        """
        return self.side(x) <= 0

    @property
    def boundary(self) -> AbstractPart:
        """All of the boundary; take parts of it by its method `where`."""
        return Surface(self)

    @property
    def region(self) -> AbstractRegion:
        """The region of integrals over the shape.

        **Raises:** `ValueError` for the outside of a shape, which is unbounded.
        """
        return Within(Limits(*self._ends), self._covers)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform inside, chosen from points of the box around it.

        **Raises:** `ValueError` for the outside of a shape, which is unbounded.
        """
        ends = self._ends
        return restricted(key, lambda key: points_in_box(key, count, *ends), self.contains)

    @property
    def _ends(self) -> Bounds:
        """The bounds, if they are finite."""
        if not all(map(math.isfinite, sum(self.bounds, ()))):
            raise ValueError(
                "what is outside of a shape has no end, and neither uniform points nor integrals "
                "over it; intersect it with another, as in box & ~ball, or box - ball."
            )
        return self.bounds

    def __or__(self, other: "AbstractShape") -> "Combined":
        return _combined(self, other, "|")

    def __and__(self, other: "AbstractShape") -> "Combined":
        return _combined(self, other, "&")

    def __sub__(self, other: "AbstractShape") -> "Combined":
        return _combined(self, ~other, "&") if isinstance(other, AbstractShape) else NotImplemented

    def __invert__(self) -> "AbstractShape":
        from .combined import Complement

        return self.shape if isinstance(self, Complement) else Complement(self)


def power_of_two_near(size: float) -> float:
    """A power of two near a positive length. In units of it squares are in range, in single
    precision too, and nothing is rounded.
    """
    return math.ldexp(1.0, math.frexp(size)[1])


def length_of(vector: Float[Array, " dim"]) -> Float[Array, ""]:
    """The length of a vector. The squares are those of numbers of at most 1."""
    largest = jnp.max(jnp.abs(vector))
    return largest * jnp.linalg.norm(vector / jnp.where(largest > 0, largest, 1))


def log_chances(logarithms: np.ndarray) -> Float[Array, " choices"]:
    """Of choices whose chances are proportional to numbers of which the logarithms are given."""
    return jnp.array(logarithms - logarithms.max(), float)


def _combined(first: AbstractShape, second: AbstractShape, how: str) -> "Combined":
    from .combined import Combined

    return Combined(first, second, how) if isinstance(second, AbstractShape) else NotImplemented


@final
class Piece(NamedTuple):
    """A piece of the boundary of a combination, from the boundary of one shape.

    - `shape`: the shape.
    - `sign`: −1 if the shape is turned inside out.
    - `keeps`: functions of the point; points are kept where all of them are true.

    !!! example

        ```python
        import diffop as do

        ring = do.pde.Ball(2) - do.pde.Ball(2, 0.5)
        [piece.sign for piece in ring.pieces()]  # [1, -1]
        ```
    """

    shape: AbstractShape
    sign: int = 1
    keeps: tuple[Callable[[Float[Array, " dim"]], Bool[Array, ""]], ...] = ()

    def kept(self, x: Float[Array, " dim"]) -> Bool[Array, ""]:
        """Whether a point of the shape's boundary is kept."""
        return jnp.all(jnp.array([True, *(keeps(x) for keeps in self.keeps)]))

    def gradient(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """A vector that points outwards."""
        return self.sign * jax.grad(self.shape.level)(x)


@final
class Surface(AbstractPart):
    """The boundary of a shape; made by its property `boundary`.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ring = do.pde.Ball(2) - do.pde.Ball(2, 0.5)
        ring.boundary.normal(jnp.array([0.5, 0.0]))  # [-1, 0]: into the hole
        ```
    """

    shape: AbstractShape

    @property
    def normal(self) -> Callable[[Float[Array, " dim"]], Float[Array, " dim"]]:
        """The direction of the gradient of the shape's level."""
        return Outward(self.shape)

    @property
    def across(self) -> None:
        """None: there is no opposite face."""
        return None

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform by area."""
        return self.shape.surface(key, count)


@final
class Outward(eqx.Module):
    """The unit vector along the gradient of a shape's level.

    **Raises:** `ValueError` for anything but one point.
    """

    shape: AbstractShape

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        gradient = jax.grad(self.shape.level)(check_point("a normal", x, self.shape.dim))
        return gradient / length_of(gradient)

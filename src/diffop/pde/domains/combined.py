"""Unions, intersections and complements of shapes."""

import math
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...streams import stream
from ..sampling.checks import checked_count
from ..sampling.lines import on_level_set
from ..sampling.rejection import Attempt, accepted
from .box import Box
from .shape import AbstractShape, Bounds, Piece, length_of, log_chances

_PLACE = 4
"""How many roundings of a point's coordinates a boundary may be displaced along its normal. There
are four of half a unit each, in the ends of both shapes, in the point and in a step from it.
"""
_SIZE = 16
"""Surfaces are one if they are less than this many roundings of the shapes' size apart."""
_SIZES = 512
"""A box counts as at most this many times as large as the narrowest shape. The ends of two walls
that are meant to be one differ by roundings of all shapes' coordinates, but a small shape must not
be lost beside a far one.
"""


@final
class Combined(AbstractShape):
    """The union or the intersection of two shapes; made by `a | b`, `a & b` and `a - b`.

    Its boundary consists of parts of both boundaries. Their points are drawn by area and kept if
    they lie outside of the other shape (for a union) or inside (for an intersection). If two
    boundaries coincide, the points of the first one are kept if both have the same side, and none
    otherwise: two boxes side by side have no wall between them. `contains` is false on such a wall,
    as on a boundary; integrals do not leave it out. If an area is not known, the points are
    crossings with random lines.

    Boundaries are taken as one where they are nearer to each other than rounding can tell, which
    in single precision, whose unit roundoff is 1e-7, is 5e-7 of the coordinate along the normal and
    2e-6 of the shapes' width: 2 m at a coordinate of 4,000 km. What is thinner than that, such as
    the rest of a shape after one of nearly the same size is taken away, has wrong points; move
    the shapes to the origin, or use double precision.

    **Arguments:**

    - `first`, `second`: shapes with the same number of coordinates.
    - `how`: `"|"` or `"&"`.

    **Raises:** `ValueError` for shapes with different numbers of coordinates, for shapes whose
    boxes do not meet, and for another `how`; for points on the boundary, if one of the shapes is
    thinner than rounding can tell.

    !!! example

        ```python
        import jax
        import diffop as do

        square = do.pde.Box((-1.0, -1.0), (1.0, 1.0))
        corner = square - do.pde.Box((0.0, -1.0), (1.0, 0.0))  # of the shape of an L
        corner.boundary.sample(jax.random.key(0), 100)
        ```
    """

    first: AbstractShape
    second: AbstractShape
    how: str = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.how not in ("|", "&"):
            raise ValueError(f"Combined expects how, '|' or '&'; got {self.how!r}.")
        if self.first.dim != self.second.dim:
            raise ValueError(
                f"shapes that are combined must have as many coordinates; got {self.first.dim} and "
                f"{self.second.dim}."
            )
        lower, upper = self.bounds
        if not all(low < high for low, high in zip(lower, upper, strict=True)):
            raise ValueError(
                f"shapes that are combined by & or - must meet; the boxes around them are "
                f"{self.first.bounds} and {self.second.bounds}."
            )

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.first.dim

    @property
    def bounds(self) -> Bounds:
        return _bounds(self.first, self.second, self.how)

    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        function = jnp.minimum if self.how == "|" else jnp.maximum
        return function(self.first.level(x), self.second.level(x))

    def side(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        function = jnp.minimum if self.how == "|" else jnp.maximum
        return function(self.first.side(x), self.second.side(x))

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        count, pieces = checked_count(count), self.pieces()
        known = [piece.shape.log_area for piece in pieces]
        logarithms = [each for each in known if each is not None]
        if len(logarithms) < len(known):
            return on_level_set(key, count, self.side, *self._around)
        self._check_widths()
        chances = log_chances(np.array(logarithms))

        def attempt(key: PRNGKeyArray) -> Attempt:
            which = jax.random.categorical(stream(key, "piece"), chances, shape=(count,))
            points, kept = [], []
            for number, piece in enumerate(pieces):
                points.append(piece.shape.surface(stream(key, "on a piece", number), count))
                kept.append(jax.vmap(piece.kept)(points[-1]))
            rows = jnp.arange(count)
            return Attempt(jnp.stack(points)[which, rows], jnp.stack(kept)[which, rows])

        return accepted(key, attempt)

    @property
    def _around(self) -> Bounds:
        """The bounds; if the inside has no end, of a box around the boundary, each point of which
        is on that of a part.
        """
        if all(map(math.isfinite, sum(self.bounds, ()))):
            return self.bounds
        return _hull(self.pieces())

    def _check_widths(self) -> None:
        """Refuses shapes that a step of the length of the tolerance may cross.

        **Raises:** `ValueError` for shapes that are too thin.
        """
        pieces, (first, last) = self.pieces(), self._around
        eps, size = float(jnp.finfo(jnp.result_type(float)).eps), _size(pieces)
        for lower, upper in (piece.shape.bounds for piece in pieces):
            for low, high, begin, end in zip(lower, upper, first, last, strict=True):
                farthest = min(max(abs(low), abs(high)), max(abs(begin), abs(end)))
                near = eps * (_PLACE * farthest + _SIZE * size)
                if high - low < near:
                    raise ValueError(
                        f"points on the boundary of a combination need shapes that are wider than "
                        f"rounding can tell, {near:.2g} here; got one from {low} to {high}; move "
                        "the shapes to the origin, or use double precision."
                    )

    def pieces(self) -> tuple[Piece, ...]:
        sign = 1 if self.how == "|" else -1
        pairs = (self.first, self.second, True), (self.second, self.first, False)
        return tuple(
            piece._replace(keeps=(*piece.keeps, _Beside(piece, other, sign, wins)))
            for own, other, wins in pairs
            for piece in own.pieces()
        )


@final
class _Beside(eqx.Module):
    """Whether a point of a piece lies outside of another shape, or inside for the sign −1.

    Where the other's level is zero, a step to either side of the piece tells. Both may be outside,
    or both inside, where the other is a union of shapes that touch. If they differ, boundaries
    coincide: then the piece counts if it is first and both have the same side.
    """

    piece: Piece
    other: AbstractShape
    sign: int = eqx.field(static=True)
    wins: bool = eqx.field(static=True)

    def __call__(self, x: Float[Array, " dim"]) -> Bool[Array, ""]:
        gradient = self.piece.gradient(x)
        normal = gradient / length_of(gradient)
        size = _size((self.piece, *self.other.pieces()))
        near = jnp.finfo(x.dtype).eps * (_PLACE * jnp.sum(jnp.abs(normal * x)) + _SIZE * size)
        step = near * normal
        level = self.other.level(x)
        after, before = self.other.level(x + step) > 0, self.other.level(x - step) > 0
        beyond = (level > 0) == (self.sign > 0)
        apart = (after == before) & (after == (self.sign > 0))
        same = after & ~before
        return jnp.where(jnp.abs(level) > near, beyond, apart | (same & self.wins))


def _bounds(first: AbstractShape, second: AbstractShape, how: str) -> Bounds:
    (a, b), (c, d) = first.bounds, second.bounds
    low, high = (min, max) if how == "|" else (max, min)
    return tuple(map(low, a, c)), tuple(map(high, b, d))


def _hull(pieces: tuple[Piece, ...]) -> Bounds:
    """The bounds of the shapes of all pieces together."""
    lower, upper = zip(*(piece.shape.bounds for piece in pieces), strict=True)
    return tuple(map(min, *lower, lower[0])), tuple(map(max, *upper, upper[0]))


def _size(pieces: tuple[Piece, ...]) -> float:
    """The size of shapes, of which `_SIZE` roundings are allowed.

    Near its wall the level of a box has only the roundings of a coordinate, however large the box
    is. Other levels are sums of numbers as large as the shape, so these shapes count whole.
    """
    widths = [[high - low for low, high in zip(*p.shape.bounds, strict=True)] for p in pieces]
    both = zip(pieces, widths, strict=True)
    rounded = [max(width) for p, width in both if not isinstance(p.shape, Box)]
    span = max(high - low for low, high in zip(*_hull(pieces), strict=True))
    return float(max(*rounded, min(span, _SIZES * min(map(min, widths))), 0.0))


@final
class Complement(AbstractShape):
    """All points outside of a shape, for intersections with others; made by `~a`.

    !!! example

        ```python
        import diffop as do

        outside = ~do.pde.Ball(2)
        plate = do.pde.Box((-2.0, -2.0), (2.0, 2.0)) & outside
        ```
    """

    shape: AbstractShape

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.shape.dim

    @property
    def bounds(self) -> Bounds:
        """No ends, except by De Morgan's rules: what is outside of `~a | b` is inside of `a`."""
        if isinstance(self.shape, Combined):
            how = "&" if self.shape.how == "|" else "|"
            return _bounds(~self.shape.first, ~self.shape.second, how)
        return (-math.inf,) * self.dim, (math.inf,) * self.dim

    @property
    def log_area(self) -> float | None:
        return self.shape.log_area

    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -self.shape.level(x)

    def side(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -self.shape.side(x)

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return self.shape.surface(key, count)

    def pieces(self) -> tuple[Piece, ...]:
        return tuple(piece._replace(sign=-piece.sign) for piece in self.shape.pieces())

"""Unions, intersections and complements of shapes."""

import math
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ...streams import stream
from ..sampling.lines import on_level_set
from ..sampling.rejection import Attempt, accepted
from .shape import AbstractShape, Bounds, Piece, log_chances

_NEAR = 64
"""Surfaces that are less than this many roundings of the largest coordinate apart are one."""


@final
class Combined(AbstractShape):
    """The union or the intersection of two shapes; made by `a | b`, `a & b` and `a - b`.

    Its boundary consists of parts of both boundaries. Their points are drawn by area and kept if
    they lie outside of the other shape (for a union) or inside (for an intersection). If two
    boundaries coincide, the points of the first one are kept if both have the same side, and none
    otherwise: two boxes side by side have no wall between them. `contains` is false on such a wall,
    as on a boundary; integrals do not leave it out. If an area is not known, the points are
    crossings with random lines.

    **Arguments:**

    - `first`, `second`: shapes with the same number of coordinates.
    - `how`: `"|"` or `"&"`.

    **Raises:** `ValueError` for shapes with different numbers of coordinates, for shapes whose
    boxes do not meet, and for another `how`.

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
        (a, b), (c, d) = self.first.bounds, self.second.bounds
        low, high = (min, max) if self.how == "|" else (max, min)
        return tuple(map(low, a, c)), tuple(map(high, b, d))

    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        function = jnp.minimum if self.how == "|" else jnp.maximum
        return function(self.first.level(x), self.second.level(x))

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        pieces = self.pieces()
        known = [piece.shape.log_area for piece in pieces]
        logarithms = [each for each in known if each is not None]
        if len(logarithms) < len(known):
            return on_level_set(key, count, self.level, *self.bounds)
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
        near = _NEAR * jnp.finfo(x.dtype).eps * self._largest
        gradient = self.piece.gradient(x)
        step = near * gradient / jnp.linalg.norm(gradient)
        level = self.other.level(x)
        after, before = self.other.level(x + step) > 0, self.other.level(x - step) > 0
        beyond = (level > 0) == (self.sign > 0)
        apart = (after == before) & (after == (self.sign > 0))
        same = after & ~before
        return jnp.where(jnp.abs(level) > near, beyond, apart | (same & self.wins))

    @property
    def _largest(self) -> float:
        """The largest coordinate of both shapes, of whose size the rounding of their levels is."""
        shapes = [piece.shape for piece in (self.piece, *self.other.pieces())]
        return max(abs(end) for shape in shapes for end in sum(shape.bounds, ()))


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
        return (-math.inf,) * self.dim, (math.inf,) * self.dim

    @property
    def log_area(self) -> float | None:
        return self.shape.log_area

    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -self.shape.level(x)

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return self.shape.surface(key, count)

    def pieces(self) -> tuple[Piece, ...]:
        return tuple(piece._replace(sign=-piece.sign) for piece in self.shape.pieces())

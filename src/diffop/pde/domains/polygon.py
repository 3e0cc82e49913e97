"""Polygons, with holes."""

from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...nn.point import check_point
from ...scalars import several
from ...streams import stream
from ..sampling.checks import checked_count
from .shape import AbstractShape, Bounds, log_chances, power_of_two_near

Corners: TypeAlias = tuple[tuple[int | float, ...], ...]


def _ring(corners: Any) -> Corners:
    """Corners without the last, if that is the first again."""
    ring = tuple(several(corner) for corner in corners)
    return ring[:-1] if len(ring) > 1 and ring[0] == ring[-1] else ring


def _rings(holes: Any) -> tuple[Corners, ...]:
    return tuple(map(_ring, holes))


@final
class Polygon(AbstractShape):
    """The inside of a polygon, without holes, which are polygons too.

    **Arguments:**

    - `corners`: at least three points of the plane, in order, either way round; the last is joined
        to the first, and may be the first again.
    - `holes`: the corners of each hole.

    **Raises:** `ValueError` for wrong corners, such as two that are one or all on a line, for edges
    that cross, and for holes that are not inside.

    !!! example

        ```python
        import jax
        import diffop as do

        house = do.pde.Polygon([(0, 0), (2, 0), (2, 1), (1, 2), (0, 1)])
        house.sample(jax.random.key(0), 100)  # (100, 2)
        roof = house.boundary.where(lambda x: x[1] > 1)
        ```
    """

    corners: Corners = eqx.field(static=True, converter=_ring)
    holes: tuple[Corners, ...] = eqx.field(static=True, default=(), converter=_rings)

    def __check_init__(self) -> None:
        for ring in (self.corners, *self.holes):
            flat = all(len(corner) == 2 for corner in ring)
            if len(ring) < 3 or not (flat and np.isfinite(ring).all()):
                raise ValueError(
                    f"Polygon expects at least three corners of two finite numbers; got {ring}."
                )
        apart = self._lengths.all()
        if apart and (_cross(*self._edges) or not self._is_nested()):
            raise ValueError(
                "Polygon expects edges that do not cross or touch but at corners, and holes inside "
                f"that are apart; got corners {self.corners} and holes {self.holes}."
            )
        rings = [np.asarray(ring, float) for ring in (self.corners, *self.holes)]
        if not (apart and all(map(_signed_area, rings))):
            raise ValueError(
                "Polygon expects corners that differ from their neighbours and are not on one "
                f"line; got corners {self.corners} and holes {self.holes}."
            )

    def _is_nested(self) -> bool:
        """Whether holes are inside and apart. As edges do not cross, one corner of each tells."""

        def inside(corner: tuple[int | float, ...], ring: Corners) -> bool:
            starts = np.asarray(ring, float)
            return bool(_is_inside(np.asarray(corner, float), starts, np.roll(starts, -1, axis=0)))

        return all(
            inside(hole[0], self.corners)
            and not any(inside(hole[0], other) for other in self.holes if other is not hole)
            for hole in self.holes
        )

    @staticmethod
    def from_shapely(polygon: Any) -> "Polygon":
        """A `diffop.pde.Polygon` from a `shapely.Polygon`.

        **Arguments:**

        - `polygon`: with attributes `exterior` and `interiors`, whose `coords` end where they
            begin.
        """
        first, *others = (list(ring.coords) for ring in (polygon.exterior, *polygon.interiors))
        return Polygon(first, tuple(others))

    @property
    def dim(self) -> int:
        """2."""
        return 2

    @property
    def bounds(self) -> Bounds:
        columns = list(zip(*self.corners, strict=True))
        return tuple(map(min, columns)), tuple(map(max, columns))

    @property
    def log_area(self) -> float:
        """The logarithm of the length of all edges."""
        return float(np.log(self._lengths.sum()))

    @property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Where edges begin and end, the inside to the left of them."""
        ends = []
        for ring, wanted in [(self.corners, 1), *((hole, -1) for hole in self.holes)]:
            points = np.asarray(ring, float)
            points = points if _signed_area(points) * wanted > 0 else points[::-1]
            ends.append((points, np.roll(points, -1, axis=0)))
        starts, stops = zip(*ends, strict=True)
        return np.concatenate(starts), np.concatenate(stops)

    @property
    def _lengths(self) -> np.ndarray:
        starts, stops = self._edges
        return np.linalg.norm(stops - starts, axis=1)

    def level(self, x: Float[Array, "2"]) -> Float[Array, ""]:
        """The distance to the nearest edge. Beside an edge it is linear, so that there is a
        gradient on the edge.
        """
        unit = power_of_two_near(self._lengths.max())
        x = check_point("Polygon", x, 2) / unit
        starts, stops = (jnp.asarray(ends / unit, x.dtype) for ends in self._edges)
        steps, lengths = stops - starts, jnp.asarray(self._lengths / unit, x.dtype)
        x_row = x[None]
        along = jnp.sum((x_row - starts) * steps, axis=1) / lengths**2
        nearest = starts + jnp.clip(along, 0, 1)[:, None] * steps
        squares = jnp.sum((x_row - nearest) ** 2, axis=1)
        edge = jnp.argmin(squares)
        outward = jnp.stack([steps[:, 1], -steps[:, 0]], axis=1) / lengths[:, None]
        beside = jnp.sum((x_row - starts) * outward, axis=1)[edge]
        to_corner = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)
        to_corner = jnp.where(_is_inside(x, starts, stops), -1.0, 1.0) * to_corner[edge]
        is_beside = (along[edge] > 0) & (along[edge] < 1)
        is_corner = squares[edge] == 0  # which takes the gradient of one of its edges
        return unit * jnp.where(is_beside | is_corner, beside, to_corner)

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count 2"]:
        """`count` points, uniform on the edges by length."""
        count = checked_count(count)
        starts, stops = (jnp.array(ends, float) for ends in self._edges)
        chances = log_chances(np.log(self._lengths))
        edge = jax.random.categorical(stream(key, "edge"), chances, shape=(count,))
        along = jax.random.uniform(stream(key, "along an edge"), (count, 1))
        return starts[edge] + along * (stops - starts)[edge]


def _is_inside(x: Any, starts: Any, stops: Any) -> Any:
    """Whether a ray crosses an odd number of edges."""
    spans = (starts[:, 1] > x[1]) != (stops[:, 1] > x[1])
    rise = stops[:, 1] - starts[:, 1]
    rise = rise + (rise == 0).astype(rise.dtype)  # such an edge spans nothing
    at = starts[:, 0] + (x[1] - starts[:, 1]) / rise * (stops[:, 0] - starts[:, 0])
    return (spans & (x[0] < at)).sum() % 2 == 1


def _signed_area(points: np.ndarray) -> float:
    """Positive for corners that go round counterclockwise, negative for others."""
    x, y = (points - points[0]).T  # far from the origin products of coordinates would cancel
    return float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2)


def _cross(starts: np.ndarray, stops: np.ndarray) -> bool:
    """Whether two edges meet anywhere but at a common corner."""

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """On which side of each line a–b each point c is."""
        first, second = (b - a)[:, None], c[None] - a[:, None]
        return np.sign(first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0])

    of_starts, of_stops = side(starts, stops, starts), side(starts, stops, stops)
    across = of_starts * of_stops <= 0
    met = across & across.T & ~((of_starts == 0) & (of_stops == 0))
    follows = (stops[:, None] == starts[None]).all(-1)
    np.fill_diagonal(met, False)
    return bool((met & ~follows & ~follows.T).any())

"""A ball and its sphere."""

import math
from collections.abc import Callable, Iterable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...nn.point import check_point
from ...quadrature import Disc
from ...scalars import described, is_integer, is_number, plain, several
from ...streams import stream
from ..sampling.ball import unit_ball_by_radius
from ..sampling.checks import checked_count
from ..sampling.normal import normal
from .domain import AbstractPart
from .shape import AbstractShape, Bounds, Outward, power_of_two_near


def _as_center(center: Iterable[Any] | None) -> tuple[int | float, ...] | None:
    return None if center is None else several(center)


@final
class Ball(AbstractShape):
    """The points with |x − center| ≤ `radius`.

    **Arguments:**

    - `dim`: the number of coordinates, at least 1.
    - `radius`: positive.
    - `center`: as many numbers; by default the origin.

    **Raises:** `ValueError` if one of them is out of range.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        disc = do.pde.Ball(2, radius=0.5, center=(1.0, 0.0))
        disc.sample(jax.random.key(0), 100)  # (100, 2)
        disc.boundary.normal(jnp.array([1.5, 0.0]))  # [1, 0]
        ```
    """

    dim: int = eqx.field(static=True, converter=plain)
    radius: int | float = eqx.field(static=True, converter=plain, default=1.0)
    center: tuple[int | float, ...] | None = eqx.field(
        static=True, default=None, converter=_as_center
    )

    def __check_init__(self) -> None:
        known = self.dim if self.center is None else len(self.center)
        numbers = self.radius, *(self.center or ())
        finite = all(is_number(each) and math.isfinite(each) for each in numbers)
        sound = is_integer(self.dim) and self.dim >= 1 and known == self.dim
        if not (sound and finite and self.radius > 0):
            raise ValueError(
                f"Ball expects a dim, an integer of at least 1, a positive radius and a center "
                f"with as many coordinates, all finite, got dim={self.dim!r}, "
                f"radius={self.radius!r} and center={self.center}."
            )

    @property
    def boundary(self) -> "Sphere":
        """The sphere around it."""
        return Sphere(self)

    @property
    def middle(self) -> Float[Array, " dim"]:
        """The center of the ball."""
        return jnp.zeros(self.dim) if self.center is None else jnp.array(self.center, float)

    @property
    def bounds(self) -> Bounds:
        """The ends of the cube around it."""
        center = self.center or (0.0,) * self.dim
        return tuple(c - self.radius for c in center), tuple(c + self.radius for c in center)

    @property
    def log_area(self) -> float:
        """The logarithm of the area of the sphere; of 2, its ends, in one coordinate."""
        half = self.dim / 2
        unit = math.log(2) + half * math.log(math.pi) - math.lgamma(half)
        return unit + (self.dim - 1) * math.log(self.radius)

    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The distance to the sphere, negative inside."""
        x = check_point("Ball", x, self.dim)
        unit = power_of_two_near(self.radius)
        squares = jnp.sum(((x - self.middle.astype(x.dtype)) / unit) ** 2)
        distance = unit * jnp.sqrt(jnp.where(squares > 0, squares, 1.0))
        return jnp.where(squares > 0, distance, 0.0) - self.radius

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform on the sphere."""
        return self.boundary.sample(key, count)

    @property
    def region(self) -> Disc:
        """The region of integrals over the ball, whose points are uniform."""
        return Disc(self.radius, self.center or (0.0,) * self.dim)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform inside; in many coordinates nearly all lie near the sphere."""
        count = checked_count(count)
        directions = self.surface(stream(key, "directions in a ball"), count)
        radii = jax.random.uniform(stream(key, "radii in a ball"), (count, 1)) ** (1 / self.dim)
        return self.middle[None] + radii * (directions - self.middle[None])

    def sample_by_radius(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points with uniform direction and uniform *radius*, like
        [`diffop.pde.unit_ball_by_radius`][]: equally many at each distance from the center.
        """
        count = checked_count(count)
        return self.middle[None] + self.radius * unit_ball_by_radius(key, count, self.dim)


@final
class Sphere(AbstractPart):
    """The boundary of a [`diffop.pde.Ball`][].

    **Raises:** `TypeError` for anything else.

    !!! example

        ```python
        import jax
        import diffop as do

        sphere = do.pde.Ball(3).boundary
        x = sphere.sample(jax.random.key(0), 1)[0]
        sphere.normal(x)  # x itself
        ```
    """

    ball: Ball

    def __check_init__(self) -> None:
        if not isinstance(self.ball, Ball):
            raise TypeError(
                "Sphere is the boundary of a ball, such as diffop.pde.Ball(3).boundary; got "
                f"{described(self.ball)}."
            )

    @property
    def normal(self) -> Callable[[Float[Array, " dim"]], Float[Array, " dim"]]:
        """The function x ↦ (x − center) / |x − center|."""
        return Outward(self.ball)

    @property
    def across(self) -> None:
        """None: there is no opposite face."""
        return None

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform on the sphere."""
        directions = normal(key, (checked_count(count), self.ball.dim))
        lengths = jnp.linalg.norm(directions, axis=1, keepdims=True)
        return self.ball.middle[None] + self.ball.radius * directions / lengths

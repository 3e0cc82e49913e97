"""A box and its faces."""

import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...nn import BoxInput
from ...nn.point import check_point
from ...quadrature import Limits
from ...scalars import plain, several
from ...streams import stream
from ..sampling.box import Unit, points_in_box, points_on_box, uniform_points
from ..sampling.checks import checked_count
from .domain import AbstractPart
from .sections import AXES, Section, section
from .shape import AbstractShape, Bounds, log_chances

End: TypeAlias = Literal["lower", "upper"]
ENDS = ("lower", "upper")


def _ends(values: Any) -> tuple[int | float, ...]:
    """One end for each coordinate.

    **Raises:** `TypeError` for a single number.
    """
    if np.ndim(values) != 1:
        raise TypeError(
            "Box expects a sequence of numbers for each end, one for each coordinate, such as "
            f"Box((0.0,), (1.0,)) for an interval, got {values!r}."
        )
    return several(values)


@final
class Box(AbstractShape):
    """The points with `lower` ≤ x ≤ `upper`; with one coordinate an interval.

    **Arguments:**

    - `lower`, `upper`: two ends for each coordinate, of which there is at least one. They are
        numbers, which are known. If a place has to be learnt, make it an array of your own part.

    **Raises:** `ValueError` if an end is not below the other, or not finite, or there is none;
    `TypeError` for a number in place of a sequence.

    !!! example

        ```python
        import jax
        import diffop as do

        channel = do.pde.Box((0.0, -1.0), (4.0, 1.0))
        channel.sample(jax.random.key(0), 100)  # (100, 2)
        channel.face(1, "upper").sample(jax.random.key(1), 100)  # y = 1
        channel.face(1, "upper").normal  # [0, 1]
        ```
    """

    lower: tuple[int | float, ...] = eqx.field(static=True, converter=_ends)
    upper: tuple[int | float, ...] = eqx.field(static=True, converter=_ends)

    def __check_init__(self) -> None:
        if len(self.lower) != len(self.upper) or not self.lower:
            raise ValueError(
                f"Box expects at least one end below and as many above, got lower={self.lower} "
                f"and upper={self.upper}."
            )
        finite = np.isfinite((self.lower, self.upper)).all()
        if not (finite and np.less(self.lower, self.upper).all()):
            raise ValueError(
                f"Box expects lower < upper in each coordinate, both finite, got "
                f"lower={self.lower} and upper={self.upper}."
            )

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.lower)

    @property
    def boundary(self) -> "Faces":
        """All faces together. It has no normal, since there is none at a corner."""
        return Faces(self)

    @property
    def bounds(self) -> Bounds:
        """Its ends."""
        return self.lower, self.upper

    @property
    def log_area(self) -> float:
        """The logarithm of the area of all faces; of 2, its ends, in one coordinate."""
        return math.log(2) + float(np.logaddexp.reduce(self._log_face_areas))

    @property
    def _log_face_areas(self) -> np.ndarray:
        logarithms = np.log(np.subtract(self.upper, self.lower, dtype=float))
        return logarithms.sum() - logarithms

    def level(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The distance to the nearest face plane, negative inside; outside, the distance to the
        farthest of the planes that are passed.
        """
        x = check_point("Box", x, self.dim)
        lower, upper = (jnp.array(ends, x.dtype) for ends in self.bounds)
        return jnp.max(jnp.maximum(lower - x, x - upper))

    def surface(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform on all faces by area."""
        count = checked_count(count)
        points = self.sample(stream(key, "inside of faces by area"), count)
        chances = log_chances(self._log_face_areas)
        axis = jax.random.categorical(stream(key, "axis by area"), chances, shape=(count,))
        upper = jax.random.bernoulli(stream(key, "end of a face by area"), shape=(count,))
        ends = [jnp.array(each, float)[axis] for each in self.bounds]
        return points.at[jnp.arange(count), axis].set(jnp.where(upper, ends[1], ends[0]))

    @property
    def region(self) -> Limits:
        """The region of integrals over the box."""
        return Limits(self.lower, self.upper)

    @property
    def faces(self) -> tuple["Face", ...]:
        """The faces one by one, the lower before the upper of each coordinate."""
        return tuple(Face(self, axis, end) for axis in range(self.dim) for end in ENDS)

    def face(self, axis: int, end: End) -> "Face":
        """The points at one end of one coordinate.

        **Arguments:**

        - `axis`: the number of the coordinate, counted from 0.
        - `end`: `"lower"` or `"upper"`.

        **Raises:** `ValueError` if there is no such face.
        """
        return Face(self, axis, end)

    def sample(
        self, key: PRNGKeyArray, count: int, unit: Unit = uniform_points
    ) -> Float[Array, "count dim"]:
        """`count` points, uniform if those of `unit` are; see `diffop.pde.points_in_box`."""
        return points_in_box(key, count, self.lower, self.upper, unit)

    def fitted(self, net: Callable) -> Callable:
        """The network, which sees the box as the cube [−1, 1]^d."""
        return BoxInput(net, self.lower, self.upper)

    def sections(self, resolution: int) -> tuple[Section, ...]:
        """The whole box as a plane to draw on, if it has two coordinates; otherwise none."""
        if self.dim != 2:
            return ()
        return (section("over the box", AXES, self.lower, self.upper, resolution),)


@final
class Face(AbstractPart):
    """One face of a [`diffop.pde.Box`][]; made by its method `face`.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        left = do.pde.Box((0.0, 0.0), (2.0, 1.0)).face(0, "lower")
        left.normal, left.across  # [-1, 0], [2, 0]
        ```
    """

    box: Box
    axis: int = eqx.field(static=True, converter=plain)
    end: End = eqx.field(static=True)

    def __check_init__(self) -> None:
        if self.axis not in range(self.box.dim) or self.end not in ENDS:
            raise ValueError(
                f"a face of a box is an axis, 0 to {self.box.dim - 1}, and an end, 'lower' or "
                f"'upper', got {self.axis!r} and {self.end!r}."
            )

    @property
    def normal(self) -> Float[Array, " dim"]:
        """The outward unit normal, the same at all points: an array, and not a function of the
        point as on other parts.
        """
        return jnp.zeros(self.box.dim).at[self.axis].set(1.0 if self.end == "upper" else -1.0)

    @property
    def across(self) -> Float[Array, " dim"]:
        """The step to the opposite face."""
        length = self.box.upper[self.axis] - self.box.lower[self.axis]
        return -length * self.normal

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform on the face."""
        place = getattr(self.box, self.end)[self.axis]
        return self.box.sample(key, count).at[:, self.axis].set(place)


@final
class Faces(AbstractPart):
    """All faces of a [`diffop.pde.Box`][]; its `boundary`.

    !!! example

        ```python
        import jax
        import diffop as do

        square = do.pde.Box((0.0, 0.0), (1.0, 1.0))
        square.boundary.sample(jax.random.key(0), 100)  # a random face for each point
        square.boundary.normal  # None: take square.faces one by one
        ```
    """

    box: Box

    @property
    def normal(self) -> None:
        """None: there is no normal at a corner."""
        return None

    @property
    def across(self) -> None:
        """None: each face has its own."""
        return None

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points: for each a random face, uniform on the face."""
        return points_on_box(key, count, self.box.lower, self.box.upper)

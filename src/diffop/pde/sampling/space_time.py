"""A box of space during an interval of time."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._problem import Section
from .box import box, on_random_faces

_AXES = ("x", "y")


@final
class SpaceTimeBox(eqx.Module):
    """The points (x, …, t) with `lower` ≤ space ≤ `upper` and 0 ≤ t ≤ `duration`.

    Time is the last coordinate.

    **Arguments:**

    - `lower`, `upper`: two ends for each coordinate of space, of which there is at least one.
    - `duration`: the last time.

    **Raises:** `ValueError` if an end is not below the other, or there is none.

    !!! example

        ```python
        import jax
        import diffop as do

        box = do.pde.SpaceTimeBox((-8.0, -4.0), (8.0, 4.0), duration=6.0)
        box.sample(jax.random.key(0), 100)  # (100, 3)
        box.boundary(jax.random.key(1), 100)  # x = ±8 or y = ±4, at any time
        ```
    """

    lower: tuple[int | float, ...] = eqx.field(static=True)
    upper: tuple[int | float, ...] = eqx.field(static=True)
    duration: int | float = eqx.field(static=True)

    def __check_init__(self) -> None:
        if len(self.lower) != len(self.upper) or not self.lower:
            raise ValueError(
                f"SpaceTimeBox expects at least one end below and as many above, got "
                f"lower={self.lower} and upper={self.upper}; time is not among them."
            )
        if not (np.less(self.lower, self.upper).all() and self.duration > 0):
            raise ValueError(
                f"SpaceTimeBox expects lower < upper and a positive duration, got "
                f"lower={self.lower}, upper={self.upper} and duration={self.duration}."
            )

    @property
    def dim(self) -> int:
        """The number of coordinates, time among them."""
        return len(self.lower) + 1

    @property
    def first(self) -> tuple[int | float, ...]:
        """The corner with the least coordinates, time 0 among them."""
        return (*self.lower, 0.0)

    @property
    def last(self) -> tuple[int | float, ...]:
        """The corner with the greatest coordinates, the last time among them."""
        return (*self.upper, self.duration)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform in space and time."""
        return box(key, count, self.first, self.last)

    def initial(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points of time 0, uniform in space."""
        return self.sample(key, count).at[:, -1].set(0.0)

    def face(
        self, key: PRNGKeyArray, count: int, axis: int, upper: bool
    ) -> Float[Array, "count dim"]:
        """`count` points at one end of one coordinate of space, uniform otherwise."""
        end = (self.upper if upper else self.lower)[axis]
        return self.sample(key, count).at[:, axis].set(end)

    def boundary(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points of the boundary of space: a random face each, uniform on the face."""
        point_key, face_key = jax.random.split(key)
        points = self.sample(point_key, count)
        lower, upper = (jnp.asarray(end, float) for end in (self.lower, self.upper))
        return on_random_faces(face_key, points, lower, upper)

    def sections(self, resolution: int) -> tuple[Section, ...]:
        """The plane (x, t), or the planes (x, y) at the first, the middle and the last time.

        None where there are more than two coordinates of space.
        """
        if self.dim > 3:
            return ()
        if self.dim == 2:
            return (self._section("over space and time", (0, 1), resolution, ()),)
        return tuple(
            self._section(f"t = {time:g}", (0, 1), resolution, (time,))
            for time in (0.0, self.duration / 2, self.duration)
        )

    def _section(
        self, title: str, axes: tuple[int, int], resolution: int, rest: tuple[float, ...]
    ) -> Section:
        horizontal, vertical = (
            np.linspace(self.first[axis], self.last[axis], resolution) for axis in axes
        )
        plane = np.stack(np.meshgrid(horizontal, vertical), axis=-1)
        fixed = np.broadcast_to(np.asarray(rest), (*plane.shape[:2], len(rest)))
        names = (*_AXES[: self.dim - 1], "t")
        return Section(
            title,
            (names[axes[0]], names[axes[1]]),
            (horizontal[0], horizontal[-1], vertical[0], vertical[-1]),
            jnp.asarray(np.concatenate([plane, fixed], axis=-1), dtype=float),
        )

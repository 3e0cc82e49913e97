"""A domain of space during an interval of time."""

from collections.abc import Callable
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..problem import Section
from .ball import Ball
from .box import Box, End
from .domain import AbstractDomain, AbstractPart, Normal
from .sections import AXES, section


@final
class SpaceTime(AbstractDomain):
    """The points (x, …, t) with (x, …) in a domain of space and 0 ≤ t ≤ `duration`.

    Time is the last coordinate.

    **Arguments:**

    - `space`: a [`diffop.pde.Box`][] or a [`diffop.pde.Ball`][].
    - `duration`: the last time, positive.

    **Raises:** `ValueError` if the duration is not positive.

    !!! example

        ```python
        import jax
        import diffop as do

        domain = do.pde.SpaceTime(do.pde.Box((-8.0, -4.0), (8.0, 4.0)), duration=6.0)
        domain.sample(jax.random.key(0), 100)  # (100, 3)
        domain.boundary.sample(jax.random.key(1), 100)  # x = ±8 or y = ±4, at any time
        domain.initial.sample(jax.random.key(2), 100)  # t = 0
        ```
    """

    space: Box | Ball
    duration: int | float = eqx.field(static=True)

    def __check_init__(self) -> None:
        if not self.duration > 0:
            raise ValueError(f"SpaceTime expects a positive duration, got {self.duration}.")

    @property
    def dim(self) -> int:
        """The number of coordinates, time among them."""
        return self.space.dim + 1

    @property
    def boundary(self) -> "Lasting":
        """The boundary of space, at any time."""
        return Lasting(self.space.boundary, self.duration)

    @property
    def initial(self) -> "Instant":
        """All of space at time 0."""
        return Instant(self.space, 0.0)

    @property
    def final(self) -> "Instant":
        """All of space at the last time."""
        return Instant(self.space, self.duration)

    @property
    def first(self) -> tuple[int | float, ...]:
        """The corner with the least coordinates, time 0 among them, where space is a box."""
        return (*self._box("corner").lower, 0.0)

    @property
    def last(self) -> tuple[int | float, ...]:
        """The corner with the greatest coordinates, the last time among them."""
        return (*self._box("corner").upper, self.duration)

    def face(self, axis: int, end: End) -> "Lasting":
        """A face of space, at any time; as for `diffop.pde.Box`.

        **Raises:** `ValueError` if there is no such face.
        """
        return Lasting(self._box("face").face(axis, end), self.duration)

    def _box(self, what: str) -> Box:
        if not isinstance(self.space, Box):
            raise ValueError(f"a {self.space} has no {what}; take its `boundary`.")
        return self.space

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform in time, and in space as its own points are."""
        return _at_any_time(self.space, self.duration, key, count)

    def sections(self, resolution: int) -> tuple[Section, ...]:
        """The plane (x, t), or the planes (x, y) at the first, the middle and the last time.

        None where space is no box, or has more than two coordinates.
        """
        if not isinstance(self.space, Box) or self.dim > 3:
            return ()
        ends = self.first, self.last
        if self.dim == 2:
            return (section("over space and time", ("x", "t"), *ends, resolution),)
        return tuple(
            section(f"t = {time:g}", AXES, *ends, resolution, (time,))
            for time in (0.0, self.duration / 2, self.duration)
        )


@final
class Lasting(AbstractPart):
    """A part of the boundary of space, at any time; made by [`diffop.pde.SpaceTime`][].

    !!! example

        ```python
        import diffop as do

        rod = do.pde.SpaceTime(do.pde.Box((0.0,), (1.0,)), duration=2.0)
        rod.face(0, "upper").normal  # [1, 0]: none of it along time
        ```
    """

    part: AbstractPart
    duration: int | float = eqx.field(static=True)

    @property
    def normal(self) -> Normal | None:
        """That of the part of space, and 0 for time."""
        normal = self.part.normal
        return _Still(normal) if callable(normal) else _still(normal)

    @property
    def across(self) -> Float[Array, " dim"] | None:
        """That of the part of space, at the same time."""
        return _still(self.part.across)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points, uniform in time."""
        return _at_any_time(self.part, self.duration, key, count)


@final
class Instant(AbstractPart):
    """All of space at one time; made by [`diffop.pde.SpaceTime`][].

    !!! example

        ```python
        import jax
        import diffop as do

        rod = do.pde.SpaceTime(do.pde.Box((0.0,), (1.0,)), duration=2.0)
        rod.initial.sample(jax.random.key(0), 10)  # t = 0
        ```
    """

    space: AbstractDomain
    time: int | float = eqx.field(static=True)

    @property
    def normal(self) -> None:
        """None: it is prescribed by `diffop.pde.Initial`, which knows the direction of time."""
        return None

    @property
    def across(self) -> None:
        """None: there is no opposite face."""
        return None

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points of space."""
        points = self.space.sample(key, count)
        return jnp.append(points, jnp.full((count, 1), self.time, points.dtype), axis=1)


def _at_any_time(
    space: AbstractDomain | AbstractPart, duration: int | float, key: PRNGKeyArray, count: int
) -> Float[Array, "count dim"]:
    space_key, time_key = jax.random.split(key)
    points = space.sample(space_key, count)
    times = duration * jax.random.uniform(time_key, (count, 1), points.dtype)
    return jnp.append(points, times, axis=1)


def _still(direction: Array | None) -> Float[Array, " dim"] | None:
    """A direction of space, which does not move in time."""
    return None if direction is None else jnp.append(direction, 0.0)


@final
class _Still(eqx.Module):
    normal: Callable

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        normal = self.normal(x[:-1])
        return jnp.append(normal, jnp.zeros((), normal.dtype))

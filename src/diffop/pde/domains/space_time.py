"""Domains of space and time."""

import math
from collections.abc import Callable
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...equations.points import OnePoint, Points
from ...nn import BoxInput
from ...operators.base import Operator
from ...operators.elementary import Identity, Partial
from ...scalars import is_number, plain
from ...streams import stream
from .box import Box, End
from .domain import AbstractDomain, AbstractPart, Normal
from .sections import AXES, Section, section
from .shape import AbstractShape


@final
class SpaceTime(AbstractDomain):
    """The points with x in a domain of space and 0 ≤ t ≤ `duration`.

    By default time is the last coordinate of points (x, …, t). With an `argnum` it is an argument
    of u, a scalar, and points are tuples (x, t) or (t, x). If time is a coordinate, operators in
    space have to name the coordinates of space: `Laplacian(dims=(0,))`, which does not contain
    $∂_t²$.

    **Arguments:**

    - `space`: a [`diffop.pde.AbstractShape`][], such as a box, a ball, or a combination.
    - `duration`: the last time, positive.
    - `argnum`: which argument of u is time: 1 for $u(x, t)$, 0 for $u(t, x)$; None for a
      coordinate.

    **Raises:** `ValueError` if the duration is not positive, or there is no such argument;
    `TypeError` if `space` is not a shape, or `duration` not a number.

    !!! example

        ```python
        import jax
        import diffop as do

        domain = do.pde.SpaceTime(do.pde.Box((-8.0, -4.0), (8.0, 4.0)), duration=6.0)
        domain.sample(jax.random.key(0), 100)  # (100, 3)
        domain.boundary.sample(jax.random.key(1), 100)  # x = ±8 or y = ±4, at any time
        domain.initial.sample(jax.random.key(2), 100)  # t = 0

        rod = do.pde.SpaceTime(do.pde.Box((0.0,), (1.0,)), duration=6.0, argnum=1)
        x, t = rod.sample(jax.random.key(0), 100)  # (100, 1), (100,)
        ```
    """

    space: AbstractShape
    duration: int | float = eqx.field(static=True, converter=plain)
    argnum: int | None = eqx.field(static=True, converter=plain, default=None)

    def __check_init__(self) -> None:
        if not isinstance(self.space, AbstractShape):
            raise TypeError(
                "SpaceTime expects a domain of space, such as diffop.pde.Box((0.0,), (1.0,)), got "
                f"{self.space!r}."
            )
        if not is_number(self.duration):
            raise TypeError(
                "SpaceTime expects a duration that is a number, such as 1.0 for 0 ≤ t ≤ 1, got "
                f"{self.duration!r}; time begins at 0."
            )
        if not 0 < self.duration < math.inf:
            raise ValueError(
                f"SpaceTime expects a positive duration, got {self.duration}; it has to be finite."
            )
        if self.argnum not in (None, 0, 1):
            raise ValueError(
                "SpaceTime expects an argnum of 1 for u(x, t), 0 for u(t, x), or None where time "
                f"is the last coordinate, got {self.argnum!r}."
            )

    @property
    def dim(self) -> int:
        """The number of coordinates, including time."""
        return self.space.dim + 1

    @property
    def boundary(self) -> "Lasting":
        """The boundary of space, at any time."""
        return Lasting(self.space.boundary, self.duration, self.argnum)

    @property
    def initial(self) -> "Instant":
        """All of space at time 0."""
        return Instant(self.space, 0.0, self.argnum)

    @property
    def final(self) -> "Instant":
        """All of space at the last time."""
        return Instant(self.space, self.duration, self.argnum)

    @property
    def first(self) -> tuple[int | float, ...]:
        """The corner with the least coordinates, including time 0, if space is a box."""
        return (*self._box("corner").lower, 0.0)

    @property
    def last(self) -> tuple[int | float, ...]:
        """The corner with the greatest coordinates, including the last time."""
        return (*self._box("corner").upper, self.duration)

    def face(self, axis: int, end: End) -> "Lasting":
        """A face of space, at any time; as for `diffop.pde.Box`.

        **Raises:** `ValueError` if there is no such face.
        """
        return Lasting(self._box("face").face(axis, end), self.duration, self.argnum)

    def _box(self, what: str) -> Box:
        if not isinstance(self.space, Box):
            raise ValueError(f"a {self.space} has no {what}; take its `boundary`.")
        return self.space

    def rate(self, order: int) -> Operator:
        """The derivative with respect to time.

        **Arguments:**

        - `order`: the order; 0 for u itself.
        """
        if not order:
            return Identity()
        if self.argnum is not None:
            return Partial(order=order, argnum=self.argnum)
        return Partial(self.space.dim, order)

    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` points, uniform in time, and distributed in space as the points of space are."""
        return _at_any_time(self.space, self.duration, self.argnum, key, count)

    def fitted(self, net: Callable) -> Callable:
        """A network that sees a box of space and time as the cube [−1, 1]^d. The network itself if
        time is a separate argument, or space is not a box.
        """
        if self.argnum is not None or not isinstance(self.space, Box):
            return net
        return BoxInput(net, self.first, self.last)

    def time(self, *args: Any) -> Float[Array, ""]:
        """The time at a point: its last coordinate, or an argument."""
        return args[0][-1] if self.argnum is None else args[self.argnum]

    def sections(self, resolution: int) -> tuple[Section, ...]:
        """The plane (x, t), or the planes (x, y) at the first, the middle and the last time.

        None if space is not a box, or has more than two coordinates.
        """
        if not isinstance(self.space, Box) or self.dim > 3:
            return ()
        ends = self.first, self.last
        if self.dim == 2:
            found = [section("over space and time", ("x", "t"), *ends, resolution)]
        else:
            found = [
                section(f"t = {time:g}", AXES, *ends, resolution, (time,))
                for time in (0.0, self.duration / 2, self.duration)
            ]
        return tuple(each._replace(points=self._divided(each.points)) for each in found)

    def _divided(self, points: Float[Array, "rows columns dim"]) -> Points:
        """Points whose last coordinate is time, in the form of u's arguments."""
        return (
            points
            if self.argnum is None
            else _joined(points[..., :-1], points[..., -1], self.argnum)
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
    duration: int | float = eqx.field(static=True, converter=plain)
    argument: int | None = eqx.field(static=True, converter=plain, default=None)

    @property
    def argnum(self) -> int:
        """Which argument of u is space, or space and time."""
        return 0 if self.argument is None else 1 - self.argument

    @property
    def normal(self) -> Normal | None:
        """The normal of the part of space, with 0 for time."""
        normal = self.part.normal
        if callable(normal):
            return _Still(normal, self.argument)
        return normal if normal is None or self.argument is not None else jnp.append(normal, 0.0)

    @property
    def across(self) -> OnePoint | None:
        """The step of the part of space, at the same time."""
        step = self.part.across
        return None if step is None else _joined(step, jnp.zeros(()), self.argument)

    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` points, uniform in time."""
        return _at_any_time(self.part, self.duration, self.argument, key, count)


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
    time: int | float = eqx.field(static=True, converter=plain)
    argument: int | None = eqx.field(static=True, converter=plain, default=None)

    @property
    def normal(self) -> None:
        """None: `diffop.pde.Initial` knows the direction of time."""
        return None

    @property
    def across(self) -> None:
        """None: there is no opposite face."""
        return None

    def sample(self, key: PRNGKeyArray, count: int) -> Points:
        """`count` points of space."""
        points = self.space.sample(key, count)
        return _joined(points, jnp.full((count,), self.time, points.dtype), self.argument)


def _at_any_time(
    space: AbstractDomain | AbstractPart,
    duration: int | float,
    argument: int | None,
    key: PRNGKeyArray,
    count: int,
) -> Points:
    points = space.sample(stream(key, "space at any time"), count)
    uniform = jax.random.uniform(stream(key, "any time"), (count, 1), points.dtype)
    times = duration * uniform
    return _joined(points, times[:, 0], argument)


def _joined(
    x: Float[Array, "*count space"], t: Float[Array, "*count"], argument: int | None
) -> Any:
    """Points of space and times in the form of u's arguments: time as last coordinate or
    argument.
    """
    if argument is None:
        return jnp.append(x, t[..., None], axis=-1)
    return (x, t) if argument else (t, x)


@final
class _Still(eqx.Module):
    """A normal of space, as a function of points of space and time."""

    normal: Callable
    argument: int | None = eqx.field(static=True, converter=plain)

    def __call__(self, *args: Array) -> Float[Array, " dim"]:
        if self.argument is not None:
            return self.normal(args[1 - self.argument])
        normal = self.normal(args[0][:-1])
        return jnp.append(normal, jnp.zeros((), normal.dtype))

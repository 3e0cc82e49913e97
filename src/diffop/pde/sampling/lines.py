"""Points of a surface of which only its two sides are known."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from ...streams import stream
from .checks import checked_count
from .normal import normal
from .rejection import Attempt, accepted

CROSSINGS = 8
"""How often a line may cross a surface, at most."""
_STEPS = 128
"""The number of intervals of a line in which changes of sign are looked for."""


def on_level_set(
    key: PRNGKeyArray,
    count: int,
    level: Callable[[Float[Array, " dim"]], Float[Array, ""]],
    lower: Sequence[int | float],
    upper: Sequence[int | float],
) -> Float[Array, "count dim"]:
    """Points of the surface where `level` changes its sign, uniform by area.

    By the formula of Cauchy and Crofton, the crossings of a surface with lines that are uniform in
    position and direction are uniform by area. A line is drawn through the ball around a box, and a
    number k of at most eight; the line gives its k-th crossing as a point, if it has one. Changes
    of sign are looked for in 128 intervals and bisected. Two crossings in one interval, whose
    length is a 128th of the box's diagonal, are missed. Where a part is thicker than that, these
    are grazing lines, a fraction of the order of the square of that length. A thinner part has too
    few points: give it as a shape of its own, in a union.

    Source: Santaló 1976, "Integral geometry and geometric probability", chapters 3 and 12.

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `count`: how many.
    - `level`: a function of the point.
    - `lower`, `upper`: the ends of a box around the surface.

    **Raises:** a runtime error if there is no such surface, or if a line crosses it more than eight
    times.
    """
    count = checked_count(count)
    first, last = jnp.array(lower, float), jnp.array(upper, float)
    middle, radius = (first + last) / 2, math.dist(lower, upper) / 2  # no square is out of range
    levels = jax.vmap(level)

    def attempt(key: PRNGKeyArray) -> Attempt:
        direction, offset = _line(key, count, len(lower))
        start = middle[None] + radius * offset
        shift = jax.random.uniform(stream(key, "grid of a line"), (count, 1)) - 1
        grid = jnp.arange(_STEPS + 2, dtype=shift.dtype)
        places = radius * (2 * (grid[None] + shift) / _STEPS - 1)

        def inside(at: Float[Array, " count"]) -> Array:
            return levels(start + at[:, None] * direction) < 0

        signs = jax.vmap(inside, 1, 1)(places)
        changes = signs[:, 1:] != signs[:, :-1]
        order = jnp.cumsum(changes, axis=1)
        which = jax.random.randint(stream(key, "crossing"), (count, 1), 1, CROSSINGS + 1)
        index = jnp.argmax(changes & (order == which), axis=1)[:, None]
        ends = [jnp.take_along_axis(places, index + k, 1)[:, 0] for k in (0, 1)]
        began = jnp.take_along_axis(signs, index, 1)[:, 0]
        at = _bisected(inside, began, *ends)
        sound = jnp.all(order[:, -1] <= CROSSINGS)
        return Attempt(start + at[:, None] * direction, order[:, -1] >= which[:, 0], sound)

    return accepted(
        key,
        attempt,
        f"a line crosses the boundary of a domain more than {CROSSINGS} times, so that its points "
        "would not be uniform; give the domain as a union of simpler ones.",
    )


def _line(key: PRNGKeyArray, count: int, dim: int) -> tuple[Array, Array]:
    """Directions, and uniform points of the unit ball orthogonal to them."""
    given = normal(stream(key, "direction of a line"), (count, dim))
    direction = given / jnp.linalg.norm(given, axis=1, keepdims=True)
    if dim == 1:
        return direction, jnp.zeros_like(direction)
    across = normal(stream(key, "offset of a line"), (count, dim))
    across = across - jnp.sum(across * direction, axis=1, keepdims=True) * direction
    across = across / jnp.linalg.norm(across, axis=1, keepdims=True)
    far = jax.random.uniform(stream(key, "distance of a line"), (count, 1))
    return direction, far ** (1 / (dim - 1)) * across


def _bisected(
    inside: Callable[[Array], Array], began: Array, low: Array, high: Array
) -> Float[Array, " count"]:
    """The place at which the sign differs from that at the beginning."""

    def halved(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        same = inside(middle) == began
        return jnp.where(same, middle, low), jnp.where(same, high, middle)

    low, high = lax.fori_loop(0, jnp.finfo(low.dtype).nmant, halved, (low, high))
    return (low + high) / 2

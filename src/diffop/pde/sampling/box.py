"""Points of a box."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ...streams import stream
from .checks import checked_count
from .normal import drawn_with

Ends: TypeAlias = Float[Array | np.ndarray, " dim"] | Sequence[int | float]
"""One number for each coordinate."""

Unit: TypeAlias = Callable[[PRNGKeyArray, int, int], Float[Array, "count dim"]]
"""Points of the unit cube, from a key, their number and the dimension."""


def uniform_points(key: PRNGKeyArray, count: int, dim: int) -> Float[Array, "count dim"]:
    """Independent uniform points of the unit cube."""
    return jax.random.uniform(drawn_with(key), (count, dim))


def points_in_box(
    key: PRNGKeyArray, count: int, lower: Ends, upper: Ends, unit: Unit = uniform_points
) -> Float[Array, "count dim"]:
    """Random points of the box `lower` ≤ x ≤ `upper`, uniformly distributed.

    If time is the last coordinate, this is a box in space during an interval of time.

    **Arguments:**

    - `key`: a key from `jax.random.key`.
    - `count`: how many points, at least 1.
    - `lower`, `upper`: the ends, one number for each of at least one coordinate.
    - `unit`: a function that draws points of the unit cube, from a key, their number and the
        dimension: independent points by default; `diffop.pde.sobol`, `diffop.pde.halton` or
        `diffop.pde.latin_hypercube` fill the box more evenly.

    **Returns:** an array of shape `(count, dim)`, of JAX's default float type.

    **Raises:** `ValueError` if `count` is less than 1, or the ends do not have the same number of
    coordinates; `TypeError` if `count` is not an integer.

    !!! example

        ```python
        import jax
        import diffop as do

        key, unit = jax.random.key(0), do.pde.sobol
        even = do.pde.points_in_box(key, 64, [-1.0, 0.0], [1.0, 5.0], unit=unit)
        ```
    """
    first, last = _ends("points_in_box", count, lower, upper)
    return first + unit(key, count, first.shape[1]) * (last - first)


def points_on_box(
    key: PRNGKeyArray, count: int, lower: Ends, upper: Ends
) -> Float[Array, "count dim"]:
    """Random points of the boundary of a box: for each a random face, uniform on the face.

    **Arguments:** as for `diffop.pde.points_in_box`.

    **Returns:** an array of shape `(count, dim)`, of JAX's default float type.

    **Raises:** as `diffop.pde.points_in_box`.

    !!! example

        ```python
        import jax
        import diffop as do

        do.pde.points_on_box(jax.random.key(0), 100, [-1.0, 0.0], [1.0, 5.0])  # (100, 2)
        ```
    """
    first, last = _ends("points_on_box", count, lower, upper)
    points = points_in_box(stream(key, "inside of faces"), count, lower, upper)
    return on_random_faces(stream(key, "faces"), points, first[0], last[0])


def on_random_faces(
    key: PRNGKeyArray,
    points: Float[Array, "count dim"],
    first: Float[Array, " faces"],
    last: Float[Array, " faces"],
) -> Float[Array, "count dim"]:
    """Moves one of the leading coordinates of each point to one of its ends, all equally likely."""
    count, (axes,) = len(points), first.shape
    axis = jax.random.randint(stream(key, "axis of a face"), (count,), 0, axes)
    upper = jax.random.bernoulli(stream(key, "end of an axis"), shape=(count,))
    return points.at[jnp.arange(count), axis].set(jnp.where(upper, last[axis], first[axis]))


def _ends(
    name: str, count: int, lower: Ends, upper: Ends
) -> tuple[Float[Array, "1 dim"], Float[Array, "1 dim"]]:
    """The ends as rows of JAX's default float type."""
    checked_count(count)
    first, last = (jnp.array(end, float)[None] for end in (lower, upper))
    if first.ndim != 2 or first.size < 1 or first.shape != last.shape:
        raise ValueError(
            f"{name} expects at least one lower end and as many upper ends, got ends of shapes "
            f"{np.shape(lower)} and {np.shape(upper)}."
        )
    return first, last

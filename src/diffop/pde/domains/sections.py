"""Rectangles to draw on."""

from collections.abc import Sequence
from typing import NamedTuple, final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

AXES = ("x", "y")


@final
class Section(NamedTuple):
    """A rectangular piece of a plane through the domain on which the solution is drawn.

    - `title`: which plane it is.
    - `axes`: the names of its horizontal and its vertical coordinate.
    - `extent`: left, right, bottom and top.
    - `points`: a grid of points, shape `(rows, columns, dim)`, the bottom row first; or a tuple of
        arrays, one for each argument of u.
    - `values`: the names of the values at a point, if there are several; by default their indices.
    """

    title: str
    axes: tuple[str, str]
    extent: tuple[float, float, float, float]
    points: PyTree[Float[Array, "rows columns ..."]]
    values: tuple[str, ...] = ()


def section(
    title: str,
    names: tuple[str, str],
    first: Sequence[float],
    last: Sequence[float],
    resolution: int,
    rest: tuple[float, ...] = (),
) -> Section:
    """A grid over the first two coordinates between two corners; the other coordinates
    are fixed.
    """
    horizontal, vertical = (np.linspace(first[i], last[i], resolution) for i in (0, 1))
    plane = np.stack(np.meshgrid(horizontal, vertical), axis=-1)
    fixed = np.broadcast_to(np.asarray(rest), (*plane.shape[:2], len(rest)))
    return Section(
        title,
        names,
        (horizontal[0], horizontal[-1], vertical[0], vertical[-1]),
        jnp.asarray(np.concatenate([plane, fixed], axis=-1), dtype=float),
    )

"""Rectangles to draw on."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from ..problem import Section

AXES = ("x", "y")


def section(
    title: str,
    names: tuple[str, str],
    first: Sequence[float],
    last: Sequence[float],
    resolution: int,
    rest: tuple[float, ...] = (),
) -> Section:
    """A grid over the first two coordinates between two corners, those after them held."""
    horizontal, vertical = (np.linspace(first[i], last[i], resolution) for i in (0, 1))
    plane = np.stack(np.meshgrid(horizontal, vertical), axis=-1)
    fixed = np.broadcast_to(np.asarray(rest), (*plane.shape[:2], len(rest)))
    return Section(
        title,
        names,
        (horizontal[0], horizontal[-1], vertical[0], vertical[-1]),
        jnp.asarray(np.concatenate([plane, fixed], axis=-1), dtype=float),
    )

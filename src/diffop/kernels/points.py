"""Points one at a time, or several, in place of the arrays of all points that `jax.vmap` makes."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

KEPT = "diffop kept"
"""The name of values that are kept even if everything else is computed again in reverse mode."""


def in_a_loop(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[int | None],
    size: int | None = None,
) -> Sequence[Any]:
    """The outputs of a batching rule: a function at one point after another, or at
    `size` at once.
    """
    along = {n: axis for n, axis in enumerate(axes) if axis is not None}
    points = [jnp.moveaxis(operands[n], axis, 0) for n, axis in along.items()]

    def at(point: list[Any]) -> Sequence[Any]:
        replaced = dict(zip(along, point, strict=True))
        return function(*(replaced.get(n, x) for n, x in enumerate(operands)))

    return lax.map(at, points, batch_size=size)


def at_the_only_point(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[int | None],
) -> Sequence[Any]:
    """The outputs of a batching rule for one point: the function, without the axis of points."""
    pairs = zip(operands, axes, strict=True)
    point = (x if axis is None else lax.squeeze(x, (axis,)) for x, axis in pairs)
    return [lax.expand_dims(x, (0,)) for x in function(*point)]

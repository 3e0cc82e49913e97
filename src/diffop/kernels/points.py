"""Points one at a time, or several, in place of the arrays of all points that `jax.vmap` makes."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.export import is_symbolic_dim

from ..arrays import filled


def in_a_loop(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[int | None],
    size: int | None = None,
) -> Sequence[Any]:
    """The outputs of a batching rule: a function at one point after another, or at `size` at once.
    A single point needs no loop, and no axis; points one at a time need no axis either.
    """
    along = {n: axis for n, axis in enumerate(axes) if axis is not None}
    points = [jnp.moveaxis(operands[n], axis, 0) for n, axis in along.items()]

    def at(point: Sequence[Any]) -> Sequence[Any]:
        return function(*filled(operands, along, point))

    if is_below(points[0].shape[0], 2):
        return [x[None] for x in at([lax.squeeze(x, (0,)) for x in points])]
    return lax.map(at, points, batch_size=None if size == 1 else size)


def is_below(count: Any, number: float | int) -> bool:
    """Whether there are fewer points than a number. Where the number of points is a symbol
    (`jax.export`), they count as many.
    """
    return not is_symbolic_dim(count) and count < number

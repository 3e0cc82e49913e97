"""Points that go through one after another, or some at a time, where `jax.vmap` would make arrays
of all.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

KEPT = "diffop kept"
"""The name of what is kept also where all else is computed again in reverse mode."""


def in_a_loop(
    function: Callable[..., Sequence[Any]],
    operands: Sequence[Any],
    axes: Sequence[int | None],
    size: int | None = None,
) -> Sequence[Any]:
    """A batching rule's outputs: a function at one point after another, or at `size` of them."""
    along = {n: axis for n, axis in enumerate(axes) if axis is not None}
    points = [jnp.moveaxis(operands[n], axis, 0) for n, axis in along.items()]

    def at(point: list[Any]) -> Sequence[Any]:
        replaced = dict(zip(along, point, strict=True))
        return function(*(replaced.get(n, x) for n, x in enumerate(operands)))

    return jax.lax.map(at, points, batch_size=size)

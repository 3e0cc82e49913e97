"""The directions that users and operators give, as blocks."""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..array_types import AnyArray
from ..coefficients import block
from ..coefficients.block import Axis, Block
from ..coefficients.blocks import Blocks
from ..coefficients.index import Index, Range, Traced, known
from ..source import Source


def basis(shape: Sequence[int]) -> Blocks:
    """All basis vectors of an argument, in row-major order, as tangents of
    [`diffop.taylor.Jets`][]: no number is stored.

    **Arguments:**

    - `shape`: of the argument.

    **Returns:** a coefficient of `prod(shape)` directions.

    !!! example

        ```python
        import jax.numpy as jnp
        import numpy as np
        import diffop as do

        v = do.taylor.basis((3,))
        jets = do.taylor.Jets(((v,), (None,)), weights=np.ones(3), top_only=True)
        do.taylor.push(lambda x: jnp.sum(x**3), (jnp.ones(3),), [jets]).derivatives[0][1]  # 18
        ```
    """
    return Blocks((block.basis(shape),), (math.prod(shape), *shape))


def entries(
    positions: AnyArray | np.ndarray, values: AnyArray | np.ndarray, shape: Sequence[int]
) -> Blocks:
    """Directions with few entries, as tangents of [`diffop.taylor.Jets`][].

    **Arguments:**

    - `positions`: `(n, s)`, the flat positions of the s entries of each direction; those at one
        position add up. They may be known only when run.
    - `values`: `(n, s)`, the entries.
    - `shape`: of the argument.

    **Returns:** a coefficient of n directions.

    **Raises:** `ValueError` where positions and values differ in shape, and for known positions
    that are not in the argument.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        # ∂_2² + ∂_700² of a function of a million variables
        v = do.taylor.entries(jnp.array([[2], [700]]), jnp.ones((2, 1)), (1_000_000,))
        jets = do.taylor.Jets(((v,), (None,)), weights=jnp.ones(2))
        x = jnp.ones(1_000_000)
        do.taylor.push(lambda x: jnp.sum(x**3), (x,), [jets]).derivatives[0][1]  # 12
        ```
    """
    shape = tuple(shape)
    if jnp.ndim(positions) != 2 or jnp.shape(positions) != jnp.shape(values):
        raise ValueError(
            "entries must have positions and values of one shape (n, s); got positions "
            f"{jnp.shape(positions)} and values {jnp.shape(values)}."
        )
    if not isinstance(positions, Tracer):
        flat = np.asarray(positions)
        outside = flat[(flat < 0) | (flat >= math.prod(shape))]
        if outside.size:
            raise ValueError(
                f"positions in an argument of shape {shape} must be from 0 to "
                f"{math.prod(shape) - 1}; got {outside[0]}."
            )
        positions = flat
    return of_part(positions, values, 0, shape)


def of_part(positions: Any, values: Any, start: int, shape: tuple[int, ...]) -> Blocks:
    """The entries at positions from `start` on that are within a shape."""
    count, each = jnp.shape(positions)
    size = math.prod(shape)
    directions = np.repeat(np.arange(count), each)
    flat, values = positions.reshape(-1) - start, values.reshape(-1)
    inside = (flat >= 0) & (flat < size)
    if not isinstance(flat, np.ndarray):
        values = jnp.where(inside, values, jnp.zeros((), values.dtype))
        flat = flat.clip(0, size - 1).astype(np.int32)
    elif not inside.all():
        flat, directions, values = flat[inside], directions[inside], values[inside]
    if isinstance(values, np.ndarray):
        values = None if (values == 1).all() else jnp.asarray(values)
    if len(directions) == 0:
        return Blocks((), (count, *shape))
    direction = known(directions)
    if each == 1 and _is_all(flat, size) and direction == Range(int(directions[0])):
        values, whole = None if values is None else values.reshape(shape), block.basis(shape)
        origin = (int(directions[0]), *whole.origin[1:])
        return Blocks((Block(values, whole.axes, origin),), (count, *shape))
    adds = (direction, *_coordinates(flat, shape))
    part = Block(values, (Axis(len(directions), adds),), (0,) * len(adds))
    return Blocks((part,), (count, *shape))


def _is_all(flat: Any, size: int) -> bool:
    """Whether these are all positions, in order."""
    return isinstance(flat, np.ndarray) and flat.size == size and known(flat) == Range()


def _coordinates(flat: Any, shape: tuple[int, ...]) -> list[Index | None]:
    """Row-major positions along each axis of a shape."""
    found: list[Index | None] = []
    name, known_now = Source(), isinstance(flat, np.ndarray)
    for v, size in enumerate(shape):
        step = math.prod(shape[v + 1 :])
        places = flat // step % size
        if known_now:
            found.append(known(places))
        else:
            found.append(Traced(places, Source((shape, v), name), 0, size - 1))
    return found

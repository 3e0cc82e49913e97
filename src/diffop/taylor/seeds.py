"""The initial coefficients: the directions that users and operators give, as blocks."""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..array_types import AnyArray
from ..arrays import known_or_traced, wide
from ..coefficients.block import Axis, Block
from ..coefficients.blocks import Blocks
from ..coefficients.index import Index, Range, Traced, known
from ..source import Source


def basis(shape: Sequence[int]) -> Blocks:
    """All basis vectors of an argument, in row-major order, as tangents of
    [`diffop.taylor.Jets`][]: no number is stored.

    **Arguments:**

    - `shape`: the shape of the argument.

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
    origin = (0,) * (len(shape) + 1)
    return Blocks((Block(None, basis_axes(shape), origin),), (math.prod(shape), *shape))


def entries(
    positions: AnyArray | np.ndarray, values: AnyArray | np.ndarray, shape: Sequence[int]
) -> Blocks:
    """Directions with few entries, as tangents of [`diffop.taylor.Jets`][].

    **Arguments:**

    - `positions`: `(n, s)`, the flat positions of the s entries of each direction; entries at one
        position add up. They may be known only at run time.
    - `values`: `(n, s)`, the entries.
    - `shape`: the shape of the argument.

    **Returns:** a coefficient of n directions.

    **Raises:** `ValueError` if positions and values differ in shape, or known positions are not in
    the argument; `TypeError` for positions that are no integers.

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
    positions, values = known_or_traced(positions), known_or_traced(values)
    if not jnp.issubdtype(positions.dtype, jnp.integer):
        raise TypeError(f"positions of entries must be integers; got {positions.dtype}.")
    if jnp.ndim(positions) != 2 or jnp.shape(positions) != jnp.shape(values):
        raise ValueError(
            "entries must have positions and values of one shape (n, s); got positions "
            f"{jnp.shape(positions)} and values {jnp.shape(values)}."
        )
    if not isinstance(positions, Tracer):
        flat = wide(np.asarray(positions))
        outside = flat[(flat < 0) | (flat >= math.prod(shape))]
        if outside.size:
            raise ValueError(
                f"positions in an argument of shape {shape} must be from 0 to "
                f"{math.prod(shape) - 1}; got {outside[0]}."
            )
        positions = flat
    return of_part(wide(positions), values, 0, shape)


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
    origin = (int(directions[0]), *(0 for _ in shape))
    static, ends = isinstance(flat, np.ndarray), directions[-1] - directions[0]
    if each == 1 and static and ends == size - 1 and np.array_equal(flat, np.arange(size)):
        values = None if values is None else values.reshape(shape)
        return Blocks((Block(values, basis_axes(shape), origin),), (count, *shape))
    adds = (known(directions - directions[0]), *_coordinates(flat, shape))
    return Blocks((Block(values, (Axis(len(directions), adds),), origin),), (count, *shape))


def basis_axes(shape: Sequence[int]) -> tuple[Axis, ...]:
    """The axes of all basis vectors of a value of this shape, in row-major order."""
    steps = [math.prod(shape[v + 1 :]) for v in range(len(shape))]
    own = [[Range() if u == v else None for u in range(len(shape))] for v in range(len(shape))]
    return tuple(
        Axis(size, (Range(0, step), *adds))
        for size, step, adds in zip(shape, steps, own, strict=True)
    )


def _coordinates(flat: Any, shape: tuple[int, ...]) -> Sequence[Index]:
    """Row-major positions as positions along each axis of a shape."""
    places = [flat // math.prod(shape[v + 1 :]) % size for v, size in enumerate(shape)]
    if isinstance(flat, np.ndarray):
        return list(map(known, places))
    name = Source()
    pairs = enumerate(zip(places, shape, strict=True))
    return [Traced(p, Source((shape, v), name), 0, size - 1) for v, (p, size) in pairs]

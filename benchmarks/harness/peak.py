"""What the machine does at most: arithmetic and memory, measured in the process that compares."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from .timing import interleaved

_SIDE = 2048
_LONG = 2**26
_BUDGET = 2.0


class Peak(NamedTuple):
    """The most that was seen in a second.

    - `flops`: multiplications and additions of a product of two square matrices in float32.
    - `bytes`: read and written, by adding to a long array in its place.
    """

    flops: float
    bytes: float


def measured_peak() -> Peak:
    """By the fastest of several turns."""
    square = jnp.ones((_SIDE, _SIDE))
    product, longer = jax.jit(jnp.matmul), _Longer()
    seconds = interleaved([lambda: product(square, square), longer], _BUDGET).min(axis=0)
    return Peak(float(2 * _SIDE**3 / seconds[0]), float(2 * 4 * _LONG / seconds[1]))


class _Longer:
    """Adds to an array that is replaced: no memory is asked for."""

    def __init__(self) -> None:
        self._array = jnp.ones(_LONG)
        self._add = jax.jit(lambda array: array + 1, donate_argnums=0)

    def __call__(self) -> Any:
        self._array = self._add(self._array)
        return self._array

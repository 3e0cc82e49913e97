"""Windows of an array at indices, as gathers read and scatters write them."""

from typing import NamedTuple

import jax
import numpy as np
from jax import lax

from .blocks import Rng, Shape, flag, number

MODES = ("clip", "fill", "promise_in_bounds")


class Windows(NamedTuple):
    """The shape of the array, the indices, some of them outside, their dimension numbers as of a
    gather and as of a scatter, the sizes of a window, and the shape of all of them.
    """

    shape: Shape
    indices: np.ndarray
    gathering: lax.GatherDimensionNumbers
    scattering: lax.ScatterDimensionNumbers
    sizes: list[int]
    whole: Shape

    def with_mode(self, rng: Rng) -> tuple[str, np.ndarray]:
        """A mode, and indices inside of the array where it promises that."""
        mode = MODES[number(rng, 0, 2)]
        return mode, self.indices * 0 if mode == "promise_in_bounds" else self.indices


def windows(rng: Rng, shape: Shape) -> Windows:
    """Windows of an array of a shape, along any of its axes, some of them of a batch."""
    batched = (number(rng, 0, len(shape) - 1),) if flag(rng) and len(shape) > 1 else ()
    others = [axis for axis in range(len(shape)) if axis not in batched]
    axes = tuple(map(int, rng.permutation(others)[: number(rng, 1, len(others))]))
    sizes = [1 if a in batched else number(rng, 1, n) for a, n in enumerate(shape)]
    collapsed = tuple(a for a in others if sizes[a] == 1 and flag(rng))
    rows, of_batches = [*(shape[a] for a in batched), number(rng, 1, 3)], (0,) * len(batched)
    if batched and flag(rng):
        rows, of_batches = rows[::-1], (1,)
    inside = [a for a in range(len(shape)) if a not in collapsed + batched]
    places = rng.permutation(len(inside) + len(rows))[: len(inside)]
    offsets = tuple(sorted(map(int, places)))
    indices = rng.integers(-1, max(shape), size=(*rows, len(axes))).astype(np.int32)
    gathering = lax.GatherDimensionNumbers(offsets, collapsed, axes, batched, of_batches)
    scattering = lax.ScatterDimensionNumbers(offsets, collapsed, axes, batched, of_batches)
    out = jax.eval_shape(
        lambda x: lax.gather(x, indices, gathering, sizes, mode="clip"),
        jax.ShapeDtypeStruct(shape, float),
    )
    return Windows(shape, indices, gathering, scattering, sizes, out.shape)

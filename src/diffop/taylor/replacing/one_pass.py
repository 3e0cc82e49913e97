"""A first layer and the Gram matrix of its rows, in one pass over its matrix."""

import dataclasses
import functools
from typing import final

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array

from ..blocks import BLOCK, Blockwise, in_blocks, may_be_in_blocks
from ..coefficients import Image
from ..symmetric import symmetric_product
from .forms import PRODUCTS, gram, gram_jvp


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def gram_by_halves(a: Array, axis: int) -> Array:
    """As `gram`, by halves where the matrix is a block that stays in the caches."""
    a = checkpoint_name(a, PRODUCTS)
    if a.size > BLOCK:
        return gram(a, axis)
    return symmetric_product(a if axis == 1 else a.T, _LEAST)


gram_by_halves.defjvp(gram_jvp)
_LEAST = 64
"""Products of so few rows with a block are the fastest that there are."""


@final
@dataclasses.dataclass(frozen=True)
class _Layer:
    """A matrix times a vector, and the Gram matrix of its rows along the axis that is summed."""

    axis: int

    def __call__(self, matrix: Array, vector: Array) -> tuple[Array, Array]:
        product = lax.dot_general(matrix, vector, (((self.axis,), (0,)), ((), ())))
        return product, gram_by_halves(matrix, self.axis)


def with_gram(image: Image) -> Image:
    """What a layer made of a vector, computed again, in one pass with the Gram matrix of its rows:
    so in reverse mode their gradients by the layer are one array from the start.

    What was computed before is dropped: nothing reads it any more.
    """
    if image.layer is None or image.output is None or image.gram is not None:
        return image
    vector, matrix = image.layer
    types = {array.dtype for array in (vector, matrix, image.output)}
    if len(types) > 1 or matrix.dtype not in _WIDE or not may_be_in_blocks(matrix):
        return image
    layer = Blockwise(_Layer(image.axis), (image.axis, 0), (None, None))
    output, rows = in_blocks(layer, matrix, vector)
    return dataclasses.replace(image, output=output, gram=rows)


_WIDE = (jnp.dtype("float32"), jnp.dtype("float64"))
"""Types with digits enough for sums over many blocks."""

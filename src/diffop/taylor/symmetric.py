"""Products with a symmetric matrix, or with a symmetric result, by halves.

Of two blocks beside the diagonal one is the other's transpose. With blocks of blocks a product then
takes little more than half of the multiplications.
"""

from collections.abc import Iterator

import jax.numpy as jnp
from jaxtyping import Array, Float

LEAST = 128
"""Blocks with fewer rows of a small matrix are no faster than the whole that they are halves of."""


def symmetric_product(wide: Float[Array, "n m"], least: int = 512) -> Float[Array, "n n"]:
    """A Aᵀ. XLA's product of a matrix with its own transpose computes all of it."""
    half = len(wide) // 2
    if half < least:
        return wide @ wide.T
    upper, lower = wide[:half], wide[half:]
    beside = lower @ upper.T
    ends = symmetric_product(upper, least), symmetric_product(lower, least)
    return jnp.block([[ends[0], beside.T], [beside, ends[1]]])


def blocks_of(matrix: Float[Array, "m m"]) -> list[Array]:
    """The blocks on and below the diagonal of a symmetric matrix."""
    half = len(matrix) // 2
    if half < LEAST:
        return [matrix]
    ends = blocks_of(matrix[:half, :half]), blocks_of(matrix[half:, half:])
    return [*ends[0], matrix[half:, :half], *ends[1]]


def quadratic_form(blocks: list[Array], array: Float[Array, "m k"]) -> Float[Array, " k"]:
    """Σ_ij M_ij a_i a_j for the blocks of M."""
    return _quadratic_form(iter(blocks), array)


def _quadratic_form(blocks: Iterator[Array], array: Array) -> Array:
    half = len(array) // 2
    if half < LEAST:
        return jnp.sum(array * (next(blocks) @ array), axis=0)
    upper, lower = array[:half], array[half:]
    first = _quadratic_form(blocks, upper)
    beside = jnp.sum(lower * (next(blocks) @ upper), axis=0)
    return first + 2 * beside + _quadratic_form(blocks, lower)


def share(size: int) -> float:
    """The part of the multiplications of a whole matrix that its blocks take."""
    half = size // 2
    if half < LEAST:
        return 1.0
    rest = size - half
    return (half * rest + half**2 * share(half) + rest**2 * share(rest)) / size**2

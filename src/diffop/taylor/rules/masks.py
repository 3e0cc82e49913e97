"""Masks: coefficients that a factor will multiply, with zeros where the factor vanishes.

A function may be constant where a coefficient is infinite or NaN: 0 · ∞ means 0, as in exp(−1/x²)
near 0, in tanh far from it, and in relu.
"""

import functools
from collections.abc import Callable
from typing import TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

from ...coefficients.block import Block
from ...coefficients.blocks import Blocks, entries_at
from ..coefficients import Coefficient, Full, on_array
from .entry_factor import EntryFactor

Mask: TypeAlias = Callable[[Coefficient, EntryFactor], Coefficient]
"""Masks a coefficient that a factor will multiply."""


def masked(coefficient: Coefficient, factor: EntryFactor, whole: bool = False) -> Coefficient:
    """A coefficient (a sparse one at its positions), with zeros in place of infinite or NaN values
    where the factor vanishes. Finite values are kept for the gradient of the product with respect
    to the factor, except (`whole`) if all derivatives underflow together.
    """
    c = coefficient
    if isinstance(c, Blocks):
        return Blocks(tuple(_masked_block(part, factor, whole) for part in c.parts), c.shape)
    return on_array(lambda array: factor.masked(array, whole), c)


def _masked_block(part: Block, factor: EntryFactor, whole: bool) -> Block:
    array = factor.array
    if array.ndim:
        array = entries_at(part, array)
    mask = functools.partial(masked, whole=whole)
    return part.with_values(at_entries(mask, part.written(array.dtype), array))


def at_entries(mask: Mask, values: Array, array: Array) -> Array:
    """`mask` for values that meet separate numbers."""
    values, array = jnp.broadcast_arrays(values, array)
    made = mask(Full(values), EntryFactor(array))
    assert isinstance(made, Full)
    return made.array


def unmasked(coefficient: Coefficient, factor: EntryFactor) -> Coefficient:
    """For a function that changes everywhere: its derivatives are 0 only at single points."""
    return coefficient


masked_whole = functools.partial(masked, whole=True)
"""For a function that underflows to 0 far below 0, together with all its derivatives."""

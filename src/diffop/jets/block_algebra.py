"""Powers and products of sums of terms, written out."""

import itertools
import math
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .directions import divided, largest_entries, take
from .terms import Block, times


def power_of(block: Block, power: int) -> Block:
    """The m-th power of a sum of terms: one term for each multiset of m of them, with its
    multinomial coefficient.
    """
    if power == 1:
        return block
    total = block.weights.shape[0]
    if total == len(block.slots) == 1:  # (w (v·∇)^p)^m, along v still
        return Block(block.weights**power, block.slots, (block.order * power,))
    if power == 2:
        index = np.stack(np.triu_indices(total), axis=1)
        multiplicity = np.where(index[:, 0] == index[:, 1], 1.0, 2.0)
    else:
        index = np.array(list(itertools.combinations_with_replacement(range(total), power)))
        multiplicity = np.array([_multinomial(row) for row in index])
    weights: Any = multiplicity
    for column in range(power):
        weights = times(weights, block.weights[index[:, column]])
    slots = tuple(take(slot, index[:, column]) for column in range(power) for slot in block.slots)
    return Block(weights, slots, block.exponents * power)


def _multinomial(row: np.ndarray) -> float:
    repeats = Counter(row.tolist()).values()
    return math.factorial(len(row)) / math.prod(map(math.factorial, repeats))


def outer(left: Block, right: Block) -> Block:
    """The product of two sums of terms: each term of one with each of the other."""
    rows, columns = left.weights.shape[0], right.weights.shape[0]
    first, second = np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)
    return Block(
        times(left.weights[first], right.weights[second]),
        tuple(take(slot, first) for slot in left.slots)
        + tuple(take(slot, second) for slot in right.slots),
        left.exponents + right.exponents,
    )


def balanced(block: Block) -> Block:
    """The same terms with directions of one size, a power of two being moved into the weights.

    A sum a v + b w of directions that differ in size loses the digits in which they do. Where they
    are integers, of coordinates, there is nothing to balance.
    """
    weights, slots = block.weights, []
    for slot, power in zip(block.slots, block.exponents, strict=True):
        sizes = largest_entries(slot)
        scale = None if sizes is None else _powers_of_two(sizes)
        slots.append(slot if scale is None else divided(slot, scale))
        weights = weights if scale is None else times(weights, scale**power)
    return Block(weights, tuple(slots), block.exponents, block.signature, block.design)


def _powers_of_two(sizes: Array) -> Array:
    """The nearest ones; one where there is none."""
    nearest = jax.lax.reduce_precision(sizes, jnp.finfo(sizes.dtype).nexp, 0)
    usable = (nearest > 0) & jnp.isfinite(nearest)
    return jax.lax.stop_gradient(jnp.where(usable, nearest, jnp.ones_like(nearest)))


def repeated(block: Block, n: int) -> Block:
    """A block of one term, n times."""
    zeros = np.zeros(n, dtype=np.int32)
    slots = tuple(take(slot, zeros) for slot in block.slots)
    return Block(block.weights[zeros], slots, block.exponents)


def along(left: Block, right: Block) -> Block:
    """Term by term products of two blocks of n terms."""
    return Block(
        times(left.weights, right.weights),
        left.slots + right.slots,
        left.exponents + right.exponents,
        left.signatures + right.signatures,
    )

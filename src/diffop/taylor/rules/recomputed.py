"""Expansions that reverse mode computes again from their inputs, instead of keeping intermediate
results.

Powers of the directions, and their masked forms where a factor vanishes, are arrays of directions ×
entries. An expansion of order four has nine of them, beside three inputs and three outputs. They
take a few products, much less work than the products with matrices around them. If gradient and
function are one program, XLA decides (`prevent_cse`), and recomputes most of them by itself. If
they are two, as in loops, what is kept needs memory.

Expansions of operands with equal shapes are traced once, in however many layers they occur.
"""

import functools
from collections.abc import Callable, Hashable
from typing import Any

import jax
from jaxtyping import PyTree

from ...held import KnownArray, with_leaves
from ...source import Source
from ..coefficients import Full, Image, Series, Zero, parts_of
from ..program import own_policy


def recomputed(function: Callable[..., PyTree], how: Hashable, operands: PyTree) -> PyTree:
    """`function(how, *operands)`, computed again in reverse mode.

    **Arguments:**

    - `function`: a function of a module, not a closure: it is traced once for equal `how` and
        operands.
    - `operands`: values in them that are not JAX arrays stay known while tracing.

    **Returns:**

    The function's value.
    """
    held = jax.tree.map(
        lambda leaf: leaf if isinstance(leaf, jax.Array) else KnownArray(leaf), _numbered(operands)
    )
    return _recomputed(function, how, held)


@functools.partial(jax.checkpoint, prevent_cse=False, policy=own_policy, static_argnums=(0, 1))
def _recomputed(function: Callable[..., PyTree], how: Hashable, operands: PyTree) -> PyTree:
    return function(how, *with_leaves(operands))


def _numbered(operands: PyTree) -> PyTree:
    """The same with numbers in place of the sources of images. Only their equality matters here.
    The sources differ in every push, so the program would be traced and kept for each.
    """
    numbers: dict[Source, Source] = {}

    def number(source: Source) -> Source:
        return numbers.setdefault(source, Source(len(numbers)))

    def numbered(leaf: Any) -> Any:
        if not isinstance(leaf, Full) or leaf.image is None:
            return leaf
        image = leaf.image
        operand = None if image.operand is None else number(image.operand)
        return Full(leaf.base, leaf.factor, Image(number(image.source), operand, image.output))

    return jax.tree.map(numbered, operands, is_leaf=lambda node: isinstance(node, Full))


def is_of_arrays(series: Series) -> bool:
    """Whether coefficients are arrays, or sets of arrays."""
    return all(isinstance(part, Full | Zero) for c in series for part in parts_of(c))

"""Expansions that reverse mode computes again from their inputs, instead of keeping intermediate
results.

Powers of the directions, and their masked forms where a factor vanishes, are arrays of directions ×
entries. An expansion of order four has nine of them, beside three inputs and three outputs. They
take a few products, much less work than the products with matrices around them. If gradient and
function are one program, XLA decides (`prevent_cse`), and recomputes most of them by itself. If
they are two, as in loops, what is kept needs memory.

Expansions of operands with equal shapes are traced once, in however many layers they occur.
"""

import dataclasses
import functools
from collections.abc import Callable, Hashable
from typing import Any

import jax
from jaxtyping import PyTree

from ...held import KnownArray, with_leaves
from ...kept import own_policy
from ..coefficients import Full, Series, Zero


def recomputed(function: Callable[..., PyTree], how: Hashable, operands: PyTree) -> PyTree:
    """`function(how, *operands)`, computed again in reverse mode.

    **Arguments:**

    - `function`: a function of a module, not a closure: it is traced once for equal `how` and
        operands.
    - `operands`: values in them that are not JAX arrays stay known while tracing.

    **Returns:**

    The function's value.
    """
    plain = jax.tree.map(_without_image, operands, is_leaf=lambda node: isinstance(node, Full))
    held = jax.tree.map(
        lambda leaf: leaf if isinstance(leaf, jax.Array) else KnownArray(leaf), plain
    )
    return _recomputed(function, how, held)


@functools.partial(jax.checkpoint, prevent_cse=False, policy=own_policy, static_argnums=(0, 1))
def _recomputed(function: Callable[..., PyTree], how: Hashable, operands: PyTree) -> PyTree:
    return function(how, *with_leaves(operands))


def _without_image(leaf: Any) -> Any:
    """No rule of an elementwise function reads an image. Its sources differ in every push, so the
    program would be traced and kept for each.
    """
    return dataclasses.replace(leaf, image=None) if isinstance(leaf, Full) else leaf


def is_of_arrays(series: Series) -> bool:
    """Whether coefficients are arrays."""
    return all(isinstance(c, Full | Zero) for c in series)

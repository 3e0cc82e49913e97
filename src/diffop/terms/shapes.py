"""Checks that shapes agree, so that nothing is broadcast by mistake."""

import math
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

Shape: TypeAlias = tuple[int, ...]

_SCALAR = 'let it be a scalar: eqx.nn.MLP(d, "scalar", ...), or u = lambda x: net(x)[0]'
_SAME = "give both the same shape"
_ENTRY = f"{_SAME}, or take an entry of it by diffop.Component, or component="


def check_shape(what: str, got: Shape, asked_by: str, asked: Shape) -> None:
    """Refuses shapes that differ: (5, 1) − (5,) would have the shape (5, 5).

    **Raises:** `ValueError` naming both.
    """
    if got != asked:
        several = _ENTRY if math.prod(got) > 1 else _SCALAR
        remedy = _SAME if asked else several
        raise ValueError(
            f"{what} at a point has shape {got}, and {asked_by} shape {asked}; no shape is "
            f"broadcast: {remedy}."
        )


def check_shapes(what: str, got: PyTree, asked_by: str, asked: PyTree) -> None:
    """The same check for each array of a pytree, whose structures must agree."""
    first, second = jax.tree.structure(got), jax.tree.structure(asked)
    if first != second:
        raise ValueError(
            f"{what} at a point has the structure {first}, and {asked_by} {second}; give both the "
            "same structure."
        )
    for mine, other in zip(jax.tree.leaves(got), jax.tree.leaves(asked), strict=True):
        check_shape(what, jnp.shape(mine), asked_by, jnp.shape(other))

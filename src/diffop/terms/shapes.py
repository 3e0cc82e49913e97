"""What u gives beside what is asked of it: nothing is broadcast from one to the other."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

Shape: TypeAlias = tuple[int, ...]

_SOURCE = "the source of the problem (a system's is like its residual)"
_LEAF = jax.tree.structure(0)
_SCALAR = 'let it be a scalar: eqx.nn.MLP(d, "scalar", ...), or u = lambda x: net(x)[0]'


def check_shape(what: str, got: Shape, asked_by: str, asked: Shape) -> None:
    """Refuse shapes that differ: (5, 1) − (5,) is of shape (5, 5).

    **Raises:** `ValueError` naming both.
    """
    if got != asked:
        remedy = _SCALAR if asked == () else "give both the same shape"
        raise ValueError(
            f"{what} at a point has shape {got}, and {asked_by} shape {asked}; no shape is "
            f"broadcast: {remedy}."
        )


def check_shapes(what: str, got: PyTree, asked_by: str, asked: PyTree) -> None:
    """The same for each array of a pytree, of one structure."""
    first, second = jax.tree.structure(got), jax.tree.structure(asked)
    if first != second:
        raise ValueError(
            f"{what} at a point has the structure {first}, and {asked_by} {second}; give both the "
            "same structure."
        )
    for mine, other in zip(jax.tree.leaves(got), jax.tree.leaves(asked), strict=True):
        check_shape(what, jnp.shape(mine), asked_by, jnp.shape(other))


def residual_of(equation: Any, u: Callable) -> Callable[[PyTree, Float[Array, " dim"]], PyTree]:
    """The residual of an equation, for values of u.

    Its source, if it has one, tells the shape of u: one number in an array would
    be taken for a scalar, and an array of residuals be broadcast against a source that has none of
    its axes. A pytree of residuals is a system, whose u may have any shape.
    """

    def residual(values: PyTree, x: Float[Array, " dim"]) -> PyTree:
        got, asked = _shape_of(u, x), _shape_of(equation.source, x)
        if not got or asked is None:
            return equation.residual(values, x)
        if asked == () and math.prod(got) == 1:
            check_shape("u", got, _SOURCE, asked)
        value = equation.residual(values, x)
        alone = jax.tree.structure(value) == _LEAF
        if alone and jnp.shape(value) not in ((), asked):
            what, shape = ("the residual", jnp.shape(value)) if asked else ("u", got)
            check_shape(what, shape, _SOURCE, asked)
        return value

    return residual


def _shape_of(function: Callable, x: Float[Array, " dim"]) -> Shape | None:
    """The shape of what a function returns; None for a pytree."""
    # of a new function: methods of modules are compared by their arrays, which may be traced
    value = jax.eval_shape(lambda x: function(x), x)
    return value.shape if jax.tree.structure(value) == _LEAF else None

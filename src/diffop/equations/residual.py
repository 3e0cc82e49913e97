"""The residual of an equation at a point, with checks of shapes and arguments."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..terms.one_point import explaining_mistakes
from ..terms.shapes import Shape, check_shape
from .equation import AbstractEquation
from .points import OnePoint, arguments, check_arguments

_SOURCE = "the source of the problem (a system's is like its residual)"
_LEAF = jax.tree.structure(0)


def residual_of(equation: AbstractEquation, u: Callable) -> Callable[[PyTree, OnePoint], PyTree]:
    """The residual of an equation, for values of u and a point.

    The source, if there is one, gives the shape of u. A single number in an array would be taken
    for a scalar, and an array of residuals would be broadcast against a source without its axes. A
    pytree of residuals is a system, whose u may have any shape.

    **Raises:** at the call, `ValueError` for shapes that would be broadcast, for a residual or a
    source that takes other arguments than u, and for a residual that uses a value that does not
    exist, or returns no numbers.
    """

    def residual(values: PyTree, point: OnePoint) -> PyTree:
        args = arguments(point)
        check_arguments("the residual", equation.residual, point, ("values",))
        check_arguments("the source", equation.source, point)
        got, asked = _shape_of(u, point), _shape_of(equation.source, point)
        if not got or asked is None:
            return _evaluated(equation, values, args)
        if asked == () and math.prod(got) == 1:
            check_shape("u", got, _SOURCE, asked)
        value = _evaluated(equation, values, args)
        alone = jax.tree.structure(value) == _LEAF
        if alone and jnp.shape(value) not in ((), asked):
            what, shape = ("the residual", jnp.shape(value)) if asked else ("u", got)
            check_shape(what, shape, _SOURCE, asked)
        return value

    return residual


def _evaluated(equation: AbstractEquation, values: PyTree, args: tuple[PyTree, ...]) -> PyTree:
    try:
        with explaining_mistakes():
            value = equation.residual(values, *args)
    except KeyError as error:
        names = ", ".join(map(repr, values)) if isinstance(values, dict) else "not called by names"
        raise ValueError(
            f"the residual asks for {error}; the values that it is given are {names}."
        ) from error
    leaves = jax.tree.leaves(value, is_leaf=lambda each: each is None)
    for leaf in leaves or [value]:
        if not isinstance(leaf, jax.Array | np.ndarray | np.generic | int | float | complex):
            raise ValueError(
                "the residual must return a number for each equation, in an array or a pytree of "
                f"arrays; got {leaf!r} of type {type(leaf).__name__}."
            )
        if jnp.issubdtype(jnp.result_type(leaf), np.bool_):
            raise ValueError(
                "the residual must return a number for each equation, left side minus right side, "
                "got truth values, as == makes of numbers; write left - right in place of "
                "left == right."
            )
    return value


def _shape_of(function: Callable[..., PyTree], point: OnePoint) -> Shape | None:
    """The shape of a function's value; None for a pytree."""
    # a new function: methods of modules are compared by their arrays, which may be traced
    with explaining_mistakes():
        value = jax.eval_shape(lambda *args: function(*args), *arguments(point))
    return value.shape if jax.tree.structure(value) == _LEAF else None

"""First derivatives of functions of one argument: the push of one direction, and its transpose.

The order one of a jet is linear in its direction,

    v ↦ Df(x) v,        w ↦ Df(x)ᵀ w,

and its transpose, reverse mode, has all derivatives of a scalar at the cost of about one push. Both
have the digits of jets, where JAX's own rules lose them: tanh′ is sech², not 1 − tanh². Both mean
the same for custom rules: jets follow a `jax.custom_jvp`, and go through a `jax.custom_vjp` as it
is written.
"""

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..taylor.pushforward import jet
from ..taylor.rules.by_jvp import UnsupportedPrimitiveError

Function: TypeAlias = Callable[[PyTree], PyTree]


def along(function: Function, x: PyTree) -> Function:
    """The map v ↦ Df(x) v."""

    def of(v: PyTree) -> PyTree:
        value, orders = jet(function, (x,), ([v],))
        structure = jax.tree.structure(value)
        return jax.tree.unflatten(structure, [d for (d,) in structure.flatten_up_to(orders)])

    return of


def linearized(function: Function, x: PyTree) -> Function:
    """The map v ↦ Df(x) v, whose numbers at x are computed once for all v."""
    return jax.linearize(along(function, x), x)[1]


def grad(function: Function, x: PyTree) -> PyTree:
    """The gradient of a function with one real value."""
    return _reverse(jax.grad, function, x)


def jacobian(function: Function, x: PyTree) -> PyTree:
    """The derivatives of real values with respect to real variables, in reverse mode; in the
    structure of `jax.jacrev`.
    """
    return _reverse(jax.jacrev, function, x)


def by_columns(function: Function, x: PyTree) -> PyTree:
    """The same along each coordinate, in forward mode."""
    return jax.jacfwd(along(function, x))(jax.tree.map(jnp.zeros_like, x))


def _reverse(mode: Callable[[Function], Function], function: Function, x: PyTree) -> PyTree:
    """The transpose of the push: the derivative of Df(x) v with respect to v."""
    try:
        return mode(along(function, x))(jax.tree.map(jnp.zeros_like, x))
    except UnsupportedPrimitiveError:  # the rule's is the only derivative
        return mode(function)(x)
    except ValueError as error:
        if "everse" not in str(error):
            raise
        return by_columns(function, x)  # a loop of unknown length has no reverse mode

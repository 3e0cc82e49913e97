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

from ..devices import varying_over
from ..taylor.pushforward import jet
from ..taylor.rules.by_jvp import UnsupportedPrimitiveError
from ..versions import varying_axes
from .arguments import Function


def directional(function: Function, x: PyTree) -> Function:
    """The map v ↦ Df(x) v."""

    def of(v: PyTree) -> PyTree:
        value, orders = jet(function, (x,), ([v],))
        structure = jax.tree.structure(value)
        return jax.tree.unflatten(structure, [d for (d,) in structure.flatten_up_to(orders)])

    return of


def linearized(function: Function, x: PyTree) -> Function:
    """The map v ↦ Df(x) v, whose numbers at x are computed once for all v."""
    return jax.linearize(directional(function, x), jax.tree.map(jnp.zeros_like, x))[1]


def grad(function: Function, x: PyTree) -> PyTree:
    """The gradient of a function with one real value."""
    value = jax.eval_shape(function, x)
    one = varying_over(jnp.ones((), value.dtype), varying_axes(value))

    def transposed(linear: Function) -> Function:
        return lambda origin: jax.linear_transpose(linear, origin)(one)[0]

    return _derivative(transposed, jax.grad, function, x)


def jacobian_of(function: Function, x: PyTree) -> PyTree:
    """The derivatives of real values with respect to real variables, in the structure of
    `jax.jacrev`: in reverse mode if there are fewer values than variables.
    """
    values, variables = (
        sum(y.size for y in jax.tree.leaves(each)) for each in (jax.eval_shape(function, x), x)
    )
    mode = jax.jacrev if values < variables else jax.jacfwd
    return _derivative(mode, jax.jacrev, function, x)


Mode: TypeAlias = Callable[[Function], Function]


def _derivative(mode: Mode, own: Mode, function: Function, x: PyTree) -> PyTree:
    """The derivative of Df(x) v with respect to v. In reverse mode this is the transpose. JAX's own
    mode is taken of a function whose only derivative is a rule for it.
    """
    linear, origin = directional(function, x), jax.tree.map(jnp.zeros_like, x)
    try:
        return mode(linear)(origin)
    except UnsupportedPrimitiveError:
        return own(function)(x)
    except ValueError as error:
        if "everse" not in str(error):
            raise
        return jax.jacfwd(linear)(origin)  # a loop of unknown length has no reverse mode

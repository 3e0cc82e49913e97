"""First derivatives in JAX's own modes, consistent with those of jets.

An operator means the same in every mode. A `jax.custom_vjp` has a rule for reverse mode and none
for forward mode; jets go through the function as it is written. A `jax.custom_jvp` whose rule
closes over its tangents has no reverse mode in JAX. If a program contains one of these, first
derivatives are computed by jets, also in reverse mode: the value of a jet of order one is linear in
its direction, and its derivative with respect to the direction is the Jacobian.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import PyTree

from ..taylor.primitive import Inner, of
from ..taylor.program import inner_programs
from ..taylor.pushforward import push
from ..taylor.rules.by_jvp import UnsupportedPrimitiveError
from ..taylor.rules.custom import is_followed_once
from ..taylor.tangents import Jets

Function: TypeAlias = Callable[[PyTree], PyTree]


@final
class Modes(NamedTuple):
    """`jax.grad` and `jax.jacrev` of functions of one argument, and the linear half of
    `jax.linearize`.
    """

    grad: Callable[[Function], Function]
    jacrev: Callable[[Function], Function]
    linearize: Callable[[Function, PyTree], Function]


def modes_of(program: jex.ClosedJaxpr) -> Modes:
    """JAX's own modes if they agree with jets, for the traced function and functions
    made from it.
    """
    return _PUSHED if _is_for_jets(program.jaxpr) else _OWN


def _is_for_jets(jaxpr: jex.Jaxpr) -> bool:
    return any(
        of(eqn).inner is Inner.REVERSED
        or is_followed_once(eqn)
        or any(map(_is_for_jets, inner_programs(eqn)))
        for eqn in jaxpr.eqns
    )


def _along(function: Function, x: PyTree) -> Function:
    """The directional derivative, a function of the direction."""

    def along(v: PyTree) -> PyTree:
        lone = jax.tree.map(lambda leaf: leaf[None], v)
        (first,) = push(function, (x,), [Jets(((lone,),))]).derivatives[0]
        return jax.tree.map(lambda leaf: leaf[0], first)

    return along


def _either(mode: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """`jax.grad` or `jax.jacrev`; `jax.jacfwd` for a loop of unknown length, which has no reverse
    mode.
    """

    def of_function(function: Function) -> Function:
        def at(x: PyTree) -> PyTree:
            try:
                return mode(function)(x)
            except ValueError as error:
                if "everse" not in str(error):
                    raise
                return jax.jacfwd(function)(x)

        return at

    return of_function


def _reverse(mode: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """The derivative of the directional derivative with respect to the direction."""

    def of_function(function: Function) -> Function:
        def at(x: PyTree) -> PyTree:
            along, origin = _along(function, x), jax.tree.map(jnp.zeros_like, x)
            try:
                return mode(along)(origin)
            except UnsupportedPrimitiveError:  # the rule's is the only derivative
                return mode(function)(x)

        return at

    return of_function


def _linearized(function: Function, x: PyTree) -> Function:
    return jax.linearize(function, x)[1]


_GRAD, _JACREV = _either(jax.grad), _either(jax.jacrev)
_OWN = Modes(_GRAD, _JACREV, _linearized)
_PUSHED = Modes(_reverse(_GRAD), _reverse(_JACREV), _along)

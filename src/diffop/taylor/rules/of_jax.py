"""Rules of JAX's own functions that consist of several primitives.

In a program they are calls. Only JAX's name and file of the traced function say which function it
is: calls of `jax.jit` and `jax.custom_jvp` differ in nothing else. If a future JAX calls a function
in another way, its rule is JAX's own again, and a test fails.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp

from ..binding import bind_call
from ..primitive import Inner, Primitive, Rule
from ..program import called
from . import special
from .decomposed import pushed_as
from .determinant import sign_and_logarithm
from .elementwise import elementwise
from .softplus import logaddexp

_JAX = str(Path(jax.__file__).parent)
KIND = "function of JAX's"


def name_in_jax(eqn: jex.JaxprEqn) -> str | None:
    """JAX's name of the function that an equation calls, if it is one of its own."""
    name, _, place = (called(eqn).jaxpr.debug_info.func_src_info or "").partition(" at ")
    return name if place.startswith(_JAX) else None


def _declared(rule: Rule) -> Primitive:
    return Primitive(rule, KIND, inner=Inner.DECLARED, evaluate=bind_call)


def _pushed(function: Callable[..., Any]) -> Primitive:
    return _declared(lambda families, _, operands: pushed_as(function, families, operands))


_WITH_A_RULE: Mapping[str, Primitive] = {
    "_slogdet_lu": _declared(sign_and_logarithm),
    "logaddexp": _pushed(logaddexp),
    "log_ndtr": _pushed(special.log_ndtr),
}


def with_a_rule(eqn: jex.JaxprEqn) -> Primitive | None:
    """The record of a function behind JAX's own derivative rule. Except for the determinant, these
    rules are for real numbers.
    """
    name = name_in_jax(eqn)
    if name is None:
        return None
    kinds: list[Any] = [var.aval for var in eqn.invars]
    is_real = all(jnp.issubdtype(kind.dtype, jnp.floating) for kind in kinds)
    return _WITH_A_RULE.get(name) if name == "_slogdet_lu" or is_real else None


_SINC = Primitive(
    elementwise,
    KIND,
    entrywise=True,
    slope=special.sinc_slope,
    in_range=float("inf"),
    evaluate=lambda _, operands: [jnp.sinc(*operands)],  # at any number of places
)


def record_behind_jit(eqn: jex.JaxprEqn) -> Primitive | None:
    """The record of a function behind `jax.jit`. The functions that JAX makes to differentiate it
    have the same name, but other equations.
    """
    if name_in_jax(eqn) != "sinc":
        return None
    (x,), own = called(eqn).jaxpr.invars[:1], _equations(called(eqn).jaxpr)
    return _SINC if own == _of_sinc(x.aval.dtype) else None


@functools.cache
def _of_sinc(dtype: jnp.dtype) -> tuple[str, ...]:
    closed = jax.make_jaxpr(jnp.sinc)(jax.ShapeDtypeStruct((), dtype))
    return _equations(called(closed.jaxpr.eqns[0]).jaxpr)


def _equations(jaxpr: jex.Jaxpr) -> tuple[str, ...]:
    return tuple(eqn.primitive.name for eqn in jaxpr.eqns)

"""Functions with a derivative rule of the user's own, and calls of inner programs."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jex

from ..binding import bind
from ..boundaries import reunited, sourced
from ..bundle import Bundle, Families, Value, is_moving, primal_of
from ..interpreter import interpret
from ..moments import PRODUCTS
from ..program import CALLS, REMATERIALISED, called
from ..registry import register
from .elementwise import ANALYTIC, CONSTANT, REAL, along_one
from .fallback import fallback


@register(*CALLS)
def call(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """An inner program is interpreted in place."""
    closed = called(eqn)
    return interpret(closed.jaxpr, closed.consts, families, operands)


@register(*REMATERIALISED)
def remat(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Pushed under `jax.checkpoint`, so that reverse mode over the push rematerialises as the user
    asked.
    """
    inner = eqn.params["jaxpr"]

    def push(values: Sequence[Value]) -> list[Value]:
        return sourced(interpret(inner, (), families, values))

    again = jax.checkpoint(push, prevent_cse=eqn.params["prevent_cse"], policy=eqn.params["policy"])
    return reunited(again(sourced(operands)))


@register("custom_jvp_call")
def custom_jvp(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """The user's jvp rule is the derivative: integrated as it stands, once for all directions where
    it is elementwise. The engine's own only saves work.
    """
    if any(each.params.get("name") == PRODUCTS for each in called(eqn).jaxpr.eqns):
        return _as_written(families, eqn, operands)
    moving = [position for position, operand in enumerate(operands) if is_moving(operand)]
    if len(moving) == 1 and _is_elementwise(eqn, operands, moving[0]):
        return along_one(families, eqn, operands, moving[0])
    return fallback(families, eqn, operands)


@register("custom_vjp_call")
def custom_vjp(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """There is no forward rule to honour: coefficients come from the function itself.

    The primal keeps the user's backward rule. Reverse mode through a coefficient differentiates the
    function itself.
    """
    return _as_written(families, eqn, operands)


def _as_written(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    primals = bind(eqn, [primal_of(operand) for operand in operands])
    closed = called(eqn)
    pushed = interpret(closed.jaxpr, closed.consts, families, operands)
    return [
        Bundle(primal, value.series) if isinstance(value, Bundle) else primal
        for primal, value in zip(primals, pushed, strict=True)
    ]


def _is_elementwise(eqn: jex.JaxprEqn, operands: Sequence[Value], position: int) -> bool:
    """Whether the function and its rule act entry by entry on a real moving operand."""
    primals = [primal_of(operand) for operand in operands]
    x = primals[position]
    avals: list[Any] = [var.aval for var in eqn.outvars]
    if [(y.shape, y.dtype) for y in avals] != [(x.shape, x.dtype)] or x.dtype.kind == "c":
        return False

    def tangent(x: jax.Array) -> list[jax.Array]:
        def function(x: jax.Array) -> list[jax.Array]:
            return bind(eqn, [*primals[:position], x, *primals[position + 1 :]])

        return jax.jvp(function, (x,), (x,))[1]

    return _only_elementwise(jax.make_jaxpr(tangent)(x).jaxpr)


_ELEMENTWISE = {
    *ANALYTIC,
    *REAL,
    *CONSTANT,
    *("integer_pow", "square"),
    *("add", "add_any", "convert_element_type", "copy", "copy_p", "div", "mul", "neg", "select_n"),
    *("pow", "sub", "eq", "ge", "gt", "le", "lt", "ne", "and", "or", "not", "xor", "is_finite"),
}


def _only_elementwise(jaxpr: jex.Jaxpr) -> bool:
    return all(map(_is_elementwise_equation, jaxpr.eqns))


def _is_elementwise_equation(eqn: jex.JaxprEqn) -> bool:
    name = eqn.primitive.name
    if name in (*CALLS, "custom_jvp_call"):
        return _only_elementwise(called(eqn).jaxpr)
    if name == "broadcast_in_dim":
        return _shape(eqn.invars[0]) == ()
    return name in _ELEMENTWISE


def _shape(atom: Any) -> tuple[int, ...]:
    return atom.aval.shape

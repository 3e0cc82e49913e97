"""Functions with a derivative rule of the user's own, and calls of inner programs."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jex

from ..binding import bind, bind_call, bind_program
from ..blocks import in_blocks_p
from ..bundle import Bundle, Families, Value, is_moving, primal_of
from ..interpreter import interpret
from ..parts import in_parts_p
from ..points import each_point_p
from ..primitive import Inner, Primitive, Rule, enter, of
from ..program import called
from ..replacing.forms import PRODUCTS
from ..weighted_rows import weighted_dot_p
from .by_jvp import fallback
from .elementwise import along_one
from .of_jax import with_a_rule, written_out


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


def _only_elementwise(jaxpr: jex.Jaxpr) -> bool:
    return all(map(_is_elementwise_equation, jaxpr.eqns))


def _is_elementwise_equation(eqn: jex.JaxprEqn) -> bool:
    record = of(eqn)
    if record.inner in (Inner.CALLED, Inner.DECLARED):
        return _only_elementwise(called(eqn).jaxpr)
    return record.is_entrywise(eqn)


def _enter(names: str, rule: Rule | None, **known: Any) -> None:
    enter(names.split(), Primitive(rule, "control flow", **known))


_enter("jit pjit", None, inner=Inner.CALLED, evaluate=bind_program, known=written_out)
_enter("call closed_call core_call", None, inner=Inner.CALLED, evaluate=bind_call)
for _call in (each_point_p, weighted_dot_p, in_blocks_p, in_parts_p):
    _enter(_call.name, None, inner=Inner.CALLED, evaluate=bind_program)
_enter("remat2 checkpoint", None, inner=Inner.REMATERIALISED, evaluate=bind_program)
_enter("custom_jvp_call", custom_jvp, inner=Inner.DECLARED, evaluate=bind_call, known=with_a_rule)
_enter("custom_vjp_call", custom_vjp, evaluate=bind_call)

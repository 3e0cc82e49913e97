"""Rules of functions with a user's derivative rule, and of calls of inner programs."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jex
import numpy as np
from jax.core import Tracer
from jax.dtypes import float0

from ..binding import bind, bind_call, bind_program, partially_bound
from ..bundle import (
    Bundle,
    Families,
    Value,
    inexact_places,
    is_inexact,
    is_moving,
    primal_of,
)
from ..interpreter import interpret, run_program
from ..primitive import Inner, Primitive, Rule, enter, of
from ..program import called, flatten
from ..replacing.forms import PRODUCTS
from .by_jvp import fallback, of_one_direction, piecewise_linear
from .elementwise import along_one
from .of_jax import name_in_jax, record_behind_jit, with_a_rule


def custom_jvp(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """The user's jvp rule is the derivative: it is integrated as it stands, once for all directions
    if it is elementwise. The engine's own custom rules only save work.
    """
    if any(each.params.get("name") == PRODUCTS for each in called(eqn).jaxpr.eqns):
        return _as_written(families, eqn, operands)
    closed_over = operands[: eqn.params["num_consts"]]
    if any(map(is_moving, closed_over)):  # about these no rule says anything
        return interpret(called(eqn).jaxpr, called(eqn).consts, families, operands)
    if of_one_direction(families):
        return piecewise_linear(families, eqn, operands)
    moving = [position for position, operand in enumerate(operands) if is_moving(operand)]
    derivative = _derivative(eqn, moving, [primal_of(operand) for operand in operands])
    if not name_in_jax(eqn) and _makes_cut_off(derivative):
        eqn = _lasting(eqn)
    if len(moving) == 1 and _is_elementwise(eqn, operands[moving[0]], derivative.jaxpr):
        return along_one(families, eqn, operands, moving[0])
    return fallback(families, eqn, operands)


def custom_vjp(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """There is no forward rule to honour, so coefficients come from the function itself, also in
    operators that use reverse mode (`terms/first_derivatives.py`).

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


def _derivative(
    eqn: jex.JaxprEqn, moving: Sequence[int], operands: Sequence[Any]
) -> jex.ClosedJaxpr:
    """The value of the rule for tangents."""

    def tangent(*operands: Any) -> list[Any]:
        point = [operands[k] for k in moving]
        return jax.jvp(partially_bound(eqn, operands, moving), point, point)[1]

    return jax.make_jaxpr(tangent)(*operands)


def _makes_cut_off(program: jex.ClosedJaxpr) -> bool:
    """Whether the program of a rule calls a function whose own rule refers to values of the first
    one, such as a function of tangents. JAX keeps rules unevaluated, and when this one is
    evaluated, the trace of these values has ended.
    """
    steps = flatten(program.jaxpr, program.consts).steps
    return any(_is_cut_off(step.eqn, program.consts) for step in steps)


def _is_cut_off(eqn: jex.JaxprEqn, known: Sequence[Any]) -> bool:
    if of(eqn).inner is not Inner.DECLARED:
        return False
    found = _own_derivative(eqn).consts
    return any(isinstance(c, Tracer) and all(c is not each for each in known) for c in found)


def _own_derivative(eqn: jex.JaxprEqn) -> jex.ClosedJaxpr:
    kinds: list[Any] = [var.aval for var in eqn.invars]
    return _derivative(eqn, inexact_places(kinds), kinds)


def _lasting(eqn: jex.JaxprEqn) -> jex.JaxprEqn:
    """The same function, with its rule followed once: the result is differentiated as it is written
    where inner rules are cut off.
    """
    closed = called(eqn)

    @jax.custom_jvp
    def function(*operands: Any) -> list[Any]:
        return interpret(closed.jaxpr, closed.consts, (), operands)

    @function.defjvp
    def _(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        moving = inexact_places(primals)

        def pushed(primals: Sequence[Any], along: Sequence[Any]) -> Any:
            point = [primals[k] for k in moving]
            outputs, moved = jax.jvp(partially_bound(eqn, primals, moving), point, along)
            return outputs, [moved[k] for k in inexact_places(outputs)]

        inputs = primals, [tangents[k] for k in moving]
        rule, shape = jax.make_jaxpr(pushed, return_shape=True)(*inputs)

        def is_spent(eqn: jex.JaxprEqn) -> bool:
            return _is_cut_off(eqn, rule.consts) or is_followed_once(eqn)

        program = flatten(rule.jaxpr, rule.consts, is_spent)
        found = run_program(program, (), jax.tree.leaves(inputs))
        outputs, moved = jax.tree.unflatten(jax.tree.structure(shape), found)
        rest = iter(moved)
        return outputs, [
            next(rest) if is_inexact(y) else np.zeros(y.shape, float0) for y in outputs
        ]

    (traced,) = jax.make_jaxpr(function)(*(var.aval for var in eqn.invars)).jaxpr.eqns
    return eqn.replace(params=traced.params)


def is_followed_once(eqn: jex.JaxprEqn) -> bool:
    """Whether a function's rule makes functions whose rules are cut off."""
    declared = of(eqn).inner is Inner.DECLARED and not name_in_jax(eqn)
    return declared and _makes_cut_off(_own_derivative(eqn))


def _is_elementwise(eqn: jex.JaxprEqn, operand: Value, derivative: jex.Jaxpr) -> bool:
    """Whether the function and its rule act entry by entry on a real moving operand."""
    x = primal_of(operand)
    avals: list[Any] = [var.aval for var in eqn.outvars]
    alike = [(y.shape, y.dtype) for y in avals] == [(x.shape, x.dtype)]
    return alike and x.dtype.kind != "c" and _only_elementwise(derivative)


def _only_elementwise(jaxpr: jex.Jaxpr) -> bool:
    return all(map(_is_elementwise_equation, jaxpr.eqns))


def _is_elementwise_equation(eqn: jex.JaxprEqn) -> bool:
    record = of(eqn)
    if record.inner in (Inner.CALLED, Inner.DECLARED):
        return _only_elementwise(called(eqn).jaxpr)
    return record.is_entrywise(eqn)


def _enter(names: str, rule: Rule | None, **known: Any) -> None:
    enter(names.split(), Primitive(rule, "control flow", **known))


_enter("jit pjit", None, inner=Inner.CALLED, evaluate=bind_program, known=record_behind_jit)
_enter("call closed_call core_call", None, inner=Inner.CALLED, evaluate=bind_call)
_enter("kernel", None, inner=Inner.CALLED, evaluate=bind_program)
_enter("remat2 checkpoint", None, inner=Inner.REMATERIALISED, evaluate=bind_program)
_enter("custom_jvp_call", custom_jvp, inner=Inner.DECLARED, evaluate=bind_call, known=with_a_rule)
_enter("custom_vjp_call", custom_vjp, inner=Inner.REVERSED, evaluate=bind_call)

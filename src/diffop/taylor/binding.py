"""Plain evaluation of equations of a jaxpr, without derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jex
from jax.extend import source_info_util

from ..arrays import filled
from ..devices import varying_alike, varying_over
from .primitive import of


def bind(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """The outputs of one equation for plain operands, always as a list."""
    evaluate = of(eqn).evaluate
    if evaluate is not None:
        return evaluate(eqn, operands)
    return bind_program(eqn, varying_alike(operands))


def vary(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """`pvary` itself, for operands that vary over some of its axes already: a coefficient may vary
    over more devices than its primal.
    """
    return [varying_over(operand, frozenset(eqn.params["axes"])) for operand in operands]


def bind_program(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """Binds an equation whose operands may vary over other devices than those for which its inner
    program was traced.
    """
    outputs = eqn.primitive.bind(*operands, **eqn.params)
    return list(outputs) if eqn.primitive.multiple_results else [outputs]


def bind_call(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """Binds an equation whose parameters hold functions in a form that its primitive does not
    accept: as a jaxpr of one equation.
    """
    inputs, arrays = [], []
    for atom, operand in zip(eqn.invars, operands, strict=True):
        if not isinstance(atom, jex.Literal) and atom not in inputs:
            inputs.append(atom)
            arrays.append(operand)
    jaxpr = jex.Jaxpr(
        constvars=(),
        invars=inputs,
        outvars=eqn.outvars,
        eqns=[eqn],
        effects=eqn.effects,
        debug_info=jax.make_jaxpr(lambda *_: [0.0] * len(eqn.outvars))(*arrays).jaxpr.debug_info,
    )
    return list(jex.jaxpr_as_fun(jex.ClosedJaxpr(jaxpr, ()))(*arrays))


def partially_bound(
    eqn: jex.JaxprEqn, operands: Sequence[Any], positions: Sequence[int]
) -> Callable[..., list[Any]]:
    """The equation as a function of the operands at `positions`, with the others fixed."""
    return lambda *moving: bind(eqn, filled(operands, positions, moving))


def described_equation(eqn: jex.JaxprEqn) -> str:
    """The primitive of an equation, and the line from which it came."""
    place = where(eqn)  # empty for equations that JAX had traced before
    return f"{eqn.primitive.name} ({place})" if place else eqn.primitive.name


def where(eqn: jex.JaxprEqn) -> str:
    """The line of the user's program from which an equation came."""
    return source_info_util.summarize(eqn.source_info)

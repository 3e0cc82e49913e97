"""The interpreter: a jaxpr evaluated on bundles, equation by equation."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax.core import Tracer

from .binding import bind, is_divided, live_equations, read
from .boundaries import reunited
from .bundle import Families, Value, dense_value, is_moving, primal_of
from .layout import laid_out
from .registry import rule_for


def interpret(
    jaxpr: jex.Jaxpr, consts: Sequence[Any], families: Families, operands: Sequence[Value]
) -> list[Value]:
    """Push operands, moving or not, through a jaxpr.

    **Arguments:**

    - `jaxpr`, `consts`: the program.
    - `families`: the curves along which bundles carry coefficients.
    - `operands`: one value for each input: a `Bundle` or a plain array.

    **Returns:**

    One value for each output.
    """
    environment: dict[jex.Var, Value] = {}
    environment.update(zip(jaxpr.constvars, consts, strict=True))
    environment.update(zip(jaxpr.invars, reunited(operands), strict=True))

    equations = live_equations(jaxpr)
    last_use = _last_use(equations, jaxpr.outvars)
    for position, eqn in enumerate(equations):
        outputs = push_equation(families, eqn, read(environment, eqn.invars))
        environment.update(zip(eqn.outvars, outputs, strict=True))
        for var in last_use[position]:
            environment.pop(var, None)
    return read(environment, jaxpr.outvars)


def push_equation(
    families: Families, eqn: jex.JaxprEqn, values: Sequence[Value]
) -> Sequence[Value]:
    """The outputs of one equation, in the context in which it was traced."""
    with eqn.ctx.manager:
        return _outputs(families, eqn, values)


def _outputs(families: Families, eqn: jex.JaxprEqn, values: Sequence[Value]) -> Sequence[Value]:
    if any(map(is_moving, values)) and any(map(_is_differentiable, eqn.outvars)):
        if not any(is_divided(var.aval) for var in eqn.outvars):
            return rule_for(eqn)(families, eqn, values)
        dense = [dense_value(value, families, eqn.primitive.name) for value in values]
        return [laid_out(families, value) for value in rule_for(eqn)(families, eqn, dense)]
    primals = [primal_of(value) for value in values]
    if _is_index_arithmetic(eqn, primals):
        with jax.ensure_compile_time_eval():
            return bind(eqn, primals)
    return bind(eqn, primals)


_INDEX_ARITHMETIC = {
    *(
        "add",
        "and",
        "broadcast_in_dim",
        "clamp",
        "concatenate",
        "convert_element_type",
        "div",
        "eq",
    ),
    *("gather", "ge", "gt", "iota", "le", "lt", "max", "min", "mul", "ne", "neg", "not", "or"),
    *("pad", "rem", "reshape", "rev", "select_n", "sign", "slice", "squeeze", "sub", "transpose"),
}


def _is_index_arithmetic(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> bool:
    """Indices that are known stay known, so that sparse coefficients can be followed through
    them.
    """
    whole = not any(map(_is_differentiable, eqn.outvars))
    known = not any(isinstance(operand, Tracer) for operand in operands)
    return eqn.primitive.name in _INDEX_ARITHMETIC and whole and known


def _is_differentiable(var: Any) -> bool:
    return jnp.issubdtype(var.aval.dtype, jnp.inexact)


def _last_use(equations: Sequence[jex.JaxprEqn], outvars: Sequence[Any]) -> list[set[jex.Var]]:
    """For each equation the variables that nothing needs after it: their memory is let go."""
    kept = {atom for atom in outvars if not isinstance(atom, jex.Literal)}
    dead: list[set[jex.Var]] = []
    for eqn in reversed(equations):
        variables = {atom for atom in eqn.invars if not isinstance(atom, jex.Literal)}
        variables.update(eqn.outvars)
        dead.append(variables - kept)
        kept |= variables
    return dead[::-1]

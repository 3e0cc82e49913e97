"""Values of traced programs, operation by operation.

Compiling a random program takes longer than everything else that is done with it. Its operations
are few kinds on few shapes, so each is compiled once, for all programs; loops and branches are
taken here, in Python.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from diffop.taylor.rules.control_flow import scan_operands

_CALLS = {"jit": "jaxpr", "remat2": "jaxpr"} | dict.fromkeys(
    ("closed_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr"
)


def evaluate(function, *args) -> Any:
    """What `function(*args)` is, by the operations that it is traced to."""
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
    leaves = run(closed, jax.tree.leaves(args))
    return jax.tree.unflatten(jax.tree.structure(shapes), leaves)


def run(jaxpr: ClosedJaxpr | Jaxpr, args) -> list:
    consts = jaxpr.consts if isinstance(jaxpr, ClosedJaxpr) else ()
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        found = _equation(eqn.primitive, eqn.params, [read(atom) for atom in eqn.invars])
        values.update(zip(eqn.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _equation(primitive, params, operands):
    name = primitive.name
    if name in _CALLS:
        return run(params[_CALLS[name]], operands)
    if name in _CONTROL:
        return _CONTROL[name](params, operands)
    found = primitive.bind(*operands, **params)
    return found if primitive.multiple_results else [found]


def _cond(params, operands):
    which, *operands = operands
    branches = params["branches"]
    return run(branches[min(max(int(which), 0), len(branches) - 1)], operands)


def _while(params, operands):
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    of_cond, of_body, state = operands[:first], operands[first:second], operands[second:]
    while run(params["cond_jaxpr"], [*of_cond, *state])[0]:
        state = run(params["body_jaxpr"], [*of_body, *state])
    return state


def _scan(params, operands):
    first, second = scan_operands(params)
    consts, carry, rows = operands[:first], operands[first:second], operands[second:]
    steps = range(params["length"])
    outputs = [None] * params["length"]
    for i in reversed(steps) if params["reverse"] else steps:
        found = run(params["jaxpr"], [*consts, *carry, *(each[i] for each in rows)])
        carry, outputs[i] = found[: len(carry)], found[len(carry) :]
    return [*carry, *(jnp.stack(each) for each in zip(*outputs, strict=True))]


_CONTROL = {"cond": _cond, "while": _while, "scan": _scan}

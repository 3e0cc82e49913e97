"""Values of traced programs, operation by operation.

Compiling a random program takes longer than everything else that is done with it. Its operations
are few kinds on few shapes, so each is compiled once, for all programs; loops and branches are
taken here, in Python, and what NumPy does bit for bit as XLA is done by NumPy.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from diffop.versions import carried_operands

from .arithmetic import in_numpy

_CALLS = {"jit": "jaxpr", "remat2": "jaxpr"} | dict.fromkeys(
    ("closed_call", "custom_jvp_call", "custom_vjp_call"), "call_jaxpr"
)
_OF_ENTRIES = frozenset(
    "acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt cos cosh digamma erf erf_inv"
    " erfc exp exp2 expm1 igamma igamma_grad_a igammac lgamma log log1p logistic nextafter"
    " polygamma pow regularized_incomplete_beta round rsqrt sin sinh sqrt square tan tanh"
    " integer_pow".split()
)
"""Primitives of XLA for which shapes do not matter."""


def evaluate(function, *args) -> Any:
    """What `function(*args)` is, by the operations that it is traced to."""
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
    leaves = run(closed, jax.tree.leaves(args))
    return jax.tree.unflatten(jax.tree.structure(shapes), leaves)


def run(jaxpr: ClosedJaxpr | Jaxpr, args) -> list:
    with np.errstate(all="ignore"):
        return _run(jaxpr, [_plain(each) for each in args])


def _run(jaxpr, args):
    consts = map(_plain, jaxpr.consts) if isinstance(jaxpr, ClosedJaxpr) else ()
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(atom):
        return np.asarray(atom.val, atom.aval.dtype) if isinstance(atom, Literal) else values[atom]

    for eqn in jaxpr.eqns:
        found = _equation(eqn.primitive, eqn.params, [read(atom) for atom in eqn.invars])
        values.update(zip(eqn.outvars, found, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _plain(value):
    """A value as NumPy's, but for random keys."""
    extended = jnp.issubdtype(getattr(value, "dtype", float), jax.dtypes.extended)
    return value if extended else np.asarray(value)


def _equation(primitive, params, operands):
    name = primitive.name
    if name in _CALLS:
        return _run(params[_CALLS[name]], operands)
    if name in _CONTROL:
        return _CONTROL[name](params, operands)
    found = in_numpy(name, params, operands)
    if found is not None:
        return [found]
    if name in _OF_ENTRIES:
        return [_by_entries(primitive, params, operands)]
    found = primitive.bind(*operands, **params)
    return [_plain(each) for each in (found if primitive.multiple_results else [found])]


def _by_entries(primitive, params, operands):
    """The function of each entry, on one of few sizes: there is a program for each."""
    operands = np.broadcast_arrays(*operands)
    shape, size = operands[0].shape, operands[0].size
    enough = 16 ** math.ceil(math.log(max(size, 2), 16))
    found = primitive.bind(*(np.resize(each, enough) for each in operands), **params)
    return np.asarray(found)[:size].reshape(shape)


def _cond(params, operands):
    which, *operands = operands
    branches = params["branches"]
    return _run(branches[min(max(int(which), 0), len(branches) - 1)], operands)


def _while(params, operands):
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    of_cond, of_body, state = operands[:first], operands[first:second], operands[second:]
    while _run(params["cond_jaxpr"], [*of_cond, *state])[0]:
        state = _run(params["body_jaxpr"], [*of_body, *state])
    return state


def _scan(params, operands):
    first, second = carried_operands(params)
    consts, carry, rows = operands[:first], operands[first:second], operands[second:]
    steps = range(params["length"])
    outputs = [None] * params["length"]
    for i in reversed(steps) if params["reverse"] else steps:
        found = _run(params["jaxpr"], [*consts, *carry, *(np.asarray(each[i]) for each in rows)])
        carry, outputs[i] = found[: len(carry)], found[len(carry) :]
    return [*carry, *(np.stack(each) for each in zip(*outputs, strict=True))]


_CONTROL = {"cond": _cond, "while": _while, "scan": _scan}

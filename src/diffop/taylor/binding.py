"""Evaluating equations of a jaxpr as they stand."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax.extend import source_info_util
from jax.sharding import AxisType

# Their parameters hold functions in a form that `bind` does not take back: they are evaluated as a
# jaxpr of one equation.
_CALLS = {"call", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "shard_map"}


def bind(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """The outputs of one equation at plain operands, always as a list."""
    operands = varying_alike(operands)
    if eqn.primitive.name in _CALLS:
        return _bind_call(eqn, operands)
    outputs = eqn.primitive.bind(*operands, **eqn.params)
    return list(outputs) if eqn.primitive.multiple_results else [outputs]


def varying_alike(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands that vary over the same devices, as primitives inside `jax.shard_map` require.

    A program was traced with its own operands; coefficients may vary less than the primals that
    they stand in for.
    """
    axes = [varying_axes(operand) for operand in operands]
    union = frozenset().union(*axes)
    if all(each == union for each in axes):
        return operands
    return [
        jax.lax.pcast(operand, tuple(union - each), to="varying") if union - each else operand
        for operand, each in zip(operands, axes, strict=True)
    ]


def varying_axes(array: Any) -> frozenset:
    """The axes of devices over which an array differs, inside `jax.shard_map`."""
    kind = getattr(jax.typeof(array), "manual_axis_type", None)
    return frozenset() if kind is None else frozenset(kind.varying)


def is_explicit(kind: Any) -> bool:
    """Whether arrays of a type lie on a mesh with explicit axes."""
    sharding = getattr(kind, "sharding", None)
    return sharding is not None and AxisType.Explicit in (sharding.mesh.axis_types or ())


def zeros_for(values: Any, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Zeros in a shape, to add values into.

    With explicit axes they are mapped by `jax.vmap` where the values are: JAX has no scatter of
    values that are divided over devices into an array that is not.
    """
    zeros = jnp.zeros(shape, dtype)
    if not is_explicit(jax.typeof(values)):
        return zeros
    return zeros + jnp.sum(values[:0]).astype(dtype)


_FOLDED = 64
"""XLA may compute with constants of so many entries while it compiles."""


def at_run_time(array: Any) -> Any:
    """A large array that may be known, with which XLA is kept from computing while it compiles: it
    is slow at that (a cumulative sum of the identity of a thousand directions takes it a minute),
    and the result would be part of the program.
    """
    array = jnp.asarray(array)
    return array if array.size <= _FOLDED else jax.lax.optimization_barrier(array)


def _bind_call(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
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
        debug_info=jax.make_jaxpr(lambda *xs: xs)(*arrays).jaxpr.debug_info,
    )
    return list(jex.jaxpr_as_fun(jex.ClosedJaxpr(jaxpr, ()))(*arrays))


def partially_bound(
    eqn: jex.JaxprEqn, operands: Sequence[Any], positions: Sequence[int]
) -> Callable[..., list[Any]]:
    """The equation as a function of the operands at `positions`, the others held fixed."""
    return partial(_bind_at, eqn, operands, positions)


def _bind_at(
    eqn: jex.JaxprEqn, operands: Sequence[Any], positions: Sequence[int], *moving: Any
) -> list[Any]:
    arguments = list(operands)
    for position, operand in zip(positions, moving, strict=True):
        arguments[position] = operand
    return bind(eqn, arguments)


def read(environment: Mapping[jex.Var, Any], atoms: Sequence[Any]) -> list[Any]:
    """The values of an equation's operands, or of a program's outputs."""
    return [atom.val if isinstance(atom, jex.Literal) else environment[atom] for atom in atoms]


def live_equations(jaxpr: jex.Jaxpr) -> list[jex.JaxprEqn]:
    """The equations that the outputs need, in order, and those with side effects."""
    needed = {id(atom) for atom in jaxpr.outvars}
    live = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(id(var) in needed for var in eqn.outvars):
            live.append(eqn)
            needed.update(id(atom) for atom in eqn.invars)
    return live[::-1]


def described(eqn: jex.JaxprEqn) -> str:
    """The primitive of an equation, and the line that it came from."""
    place = where(eqn)  # nothing for what JAX traced before
    return f"{eqn.primitive.name} ({place})" if place else eqn.primitive.name


def where(eqn: jex.JaxprEqn) -> str:
    """The line of the user's program that an equation came from."""
    return source_info_util.summarize(eqn.source_info)

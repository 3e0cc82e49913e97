"""Evaluating equations of a jaxpr as they stand."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax.extend import source_info_util
from jax.sharding import AxisType, NamedSharding, reshard

from .primitive import of
from .versions import varying_axes


def bind(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """The outputs of one equation at plain operands, always as a list."""
    evaluate = of(eqn).evaluate
    return bind_alike(eqn, operands) if evaluate is None else evaluate(eqn, operands)


def bind_alike(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    return bind_program(eqn, varying_alike(operands))


def vary(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """A coefficient may vary over more devices than its primal."""
    return [varying_over(operand, frozenset(eqn.params["axes"])) for operand in operands]


def bind_program(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """An equation whose operands may differ in the devices that they vary over: each as its inner
    program was traced for it.
    """
    outputs = eqn.primitive.bind(*operands, **eqn.params)
    return list(outputs) if eqn.primitive.multiple_results else [outputs]


def varying_alike(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands that vary over the same devices, as primitives inside `jax.shard_map` require.

    A program was traced with its own operands; coefficients may vary less than the primals that
    they stand in for.
    """
    if not _on_one_device():
        return operands
    union = frozenset().union(*map(varying_axes, operands))
    return [varying_over(operand, union) for operand in operands] if union else operands


def varying_over(array: Any, axes: frozenset) -> Any:
    """The same array, said to vary over these axes of devices too."""
    missing = axes - varying_axes(array)
    return jax.lax.pcast(array, tuple(sorted(missing)), to="varying") if missing else array


def _on_one_device() -> bool:
    """Whether this is inside of `jax.shard_map`, as each device sees it."""
    return AxisType.Manual in (jax.sharding.get_abstract_mesh().axis_types or ())


def own_copy(function: Callable[[Any], Any], argument: Any) -> Any:
    """An argument, said to vary over the devices that the function's values vary over: for reverse
    mode on each of them alone.

    Inside `jax.shard_map` JAX takes what does not vary as one variable for all devices, so that the
    gradient by it is the sum of all of theirs.
    """
    if not _on_one_device():
        return argument
    outputs = jax.tree.leaves(jax.eval_shape(function, argument))
    axes = frozenset().union(*map(varying_axes, outputs))
    return jax.tree.map(lambda leaf: varying_over(leaf, axes), argument)


def is_explicit(kind: Any) -> bool:
    """Whether arrays of a type lie on a mesh with explicit axes."""
    sharding = getattr(kind, "sharding", None)
    return sharding is not None and AxisType.Explicit in (sharding.mesh.axis_types or ())


def zeros_for(values: Any, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Zeros in a shape, to add values into: they vary over the devices that the values vary over.

    With explicit axes they are mapped by `jax.vmap` where the values are: JAX has no scatter of
    values that are divided over devices into an array that is not, and no loop that carries both.
    """
    zeros = varying_over(jnp.zeros(shape, dtype), varying_axes(values))
    if not is_explicit(jax.typeof(values)):
        return zeros
    return zeros + jnp.sum(values[None][:0]).astype(dtype)


def is_on_mesh(array: Any) -> bool:
    """Whether an array's type says anything of how it lies on devices."""
    return bool(varying_axes(array)) or is_explicit(jax.typeof(array))


def start_of_sum(terms: Callable[[], Any]) -> Any:
    """Zeros for a loop to add terms to, lying on the devices as the terms do.

    How they are mapped by `jax.vmap` with explicit axes only the terms themselves tell; of the
    program that makes them nothing is left then but their type.
    """
    like = jax.eval_shape(terms)
    if any(is_explicit(jax.typeof(leaf)) for leaf in jax.tree.leaves(like)):
        like = jax.lax.stop_gradient(terms())
    return jax.tree.map(_zeros_like, like)


def _zeros_like(term: Any) -> jax.Array:
    zeros, kind = zeros_for(term, term.shape, term.dtype), jax.typeof(term)
    if not is_divided(kind):
        return zeros
    return divided_along(zeros, kind.sharding.spec, kind.sharding.mesh)


def is_divided(kind: Any) -> bool:
    """Whether arrays of a type are divided along explicit axes."""
    return is_explicit(kind) and any(kind.sharding.spec)


def divided_along(array: Any, spec: jax.P, mesh: Any) -> Any:
    """An array divided as a specification says."""
    layout = NamedSharding(mesh, spec)
    return array if jax.typeof(array).sharding == layout else reshard(array, layout)


_FOLDED = 64
"""XLA may compute with constants of so many entries while it compiles."""


def at_run_time(array: Any) -> Any:
    """A large array that may be known, with which XLA is kept from computing while it compiles: it
    is slow at that (a cumulative sum of the identity of a thousand directions takes it a minute),
    and the result would be part of the program.
    """
    array = jnp.asarray(array)
    return array if array.size <= _FOLDED else jax.lax.optimization_barrier(array)


def bind_call(eqn: jex.JaxprEqn, operands: Sequence[Any]) -> list[Any]:
    """An equation whose parameters hold functions in a form that its primitive does not take back:
    as a jaxpr of one equation.
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
    needed = set(map(id, jaxpr.outvars))
    live = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not needed.isdisjoint(map(id, eqn.outvars)):
            live.append(eqn)
            needed.update(map(id, eqn.invars))
    return live[::-1]


def described(eqn: jex.JaxprEqn) -> str:
    """The primitive of an equation, and the line that it came from."""
    place = where(eqn)  # nothing for what JAX traced before
    return f"{eqn.primitive.name} ({place})" if place else eqn.primitive.name


def where(eqn: jex.JaxprEqn) -> str:
    """The line of the user's program that an equation came from."""
    return source_info_util.summarize(eqn.source_info)

"""How arrays lie on devices, and constants that lie as other arrays do."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, reshard, use_abstract_mesh

from .versions import varying_axes

R = TypeVar("R")


def varying_alike(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands that vary over the same devices, as primitives inside `jax.shard_map` require.

    A program was traced with its own operands. Coefficients may vary less than the primals whose
    place they take.
    """
    if not in_shard_map():
        return operands
    union = frozenset().union(*map(varying_axes, operands))
    return [varying_over(operand, union) for operand in operands] if union else operands


def varying_over(array: Any, axes: frozenset) -> Any:
    """The same array, declared to vary over these axes of devices too."""
    missing = axes - varying_axes(array)
    return jax.lax.pcast(array, tuple(sorted(missing)), to="varying") if missing else array


def in_shard_map() -> bool:
    """Whether this code runs inside `jax.shard_map`, as each device sees it."""
    return AxisType.Manual in (jax.sharding.get_abstract_mesh().axis_types or ())


def own_copy(function: Callable[[Any], Any], argument: Any) -> Any:
    """An argument, declared to vary over the devices over which the function's values vary, so that
    reverse mode works on each of them alone.

    Inside `jax.shard_map` JAX treats an array that does not vary as one variable for all devices,
    so the gradient with respect to it would be the sum over all of them.
    """
    if not in_shard_map():
        return argument
    outputs = jax.tree.leaves(jax.eval_shape(function, argument))
    axes = frozenset().union(*map(varying_axes, outputs))
    return jax.tree.map(lambda leaf: varying_over(leaf, axes), argument)


def computed_at_once(function: Callable[[], R]) -> R:
    """What a function makes of known arrays, while a program is traced.

    Inside `jax.shard_map` JAX has no arrays but those of the program: what is known is computed
    outside of every mesh there, and lies on none as an array of NumPy.
    """
    if not in_shard_map():
        with jax.ensure_compile_time_eval():
            return function()
    with use_abstract_mesh(AbstractMesh((), ())), jax.ensure_compile_time_eval():
        return jax.tree.map(np.asarray, function())


def is_explicit(kind: Any) -> bool:
    """Whether arrays of a type lie on a mesh with explicit axes."""
    sharding = getattr(kind, "sharding", None)
    return sharding is not None and AxisType.Explicit in (sharding.mesh.axis_types or ())


def zeros_for(values: Any, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Zeros in a shape, to which values are added: they vary over the devices of the values.

    With explicit axes they are mapped by `jax.vmap` where the values are. JAX has no scatter of
    divided values into an undivided array, and no loop that carries both.
    """
    zeros = varying_over(jnp.zeros(shape, dtype), varying_axes(values))
    if not is_explicit(jax.typeof(values)):
        return zeros
    return zeros + jnp.sum(values[None][:0]).astype(dtype)


def is_on_mesh(array: Any) -> bool:
    """Whether an array's type says how it lies on devices."""
    return bool(varying_axes(array)) or is_explicit(jax.typeof(array))


def start_of_sum(terms: Callable[[], Any]) -> Any:
    """Zeros for a loop to add terms to, lying on the devices as the terms do.

    With explicit axes, only the terms themselves show how they are mapped by `jax.vmap`. The
    program that computes them here is removed by the compiler; only their type is used.
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

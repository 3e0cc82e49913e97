"""The rule of programs that are mapped over devices (`jax.shard_map`)."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.extend.core as jex
import jax.numpy as jnp

from ...versions import axes_mapped
from ..binding import bind_call
from ..bundle import Families, Value, dense_value, is_moving, primal_of
from ..interpreter import interpret
from ..primitive import Primitive, enter


def shard_map(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Coefficients lie on the devices where their primals lie, the weights of directions on all.

    Which coefficients of outputs are arrays is known only inside the map, where the collectives'
    axes have names, but has to be stated outside. So the program is pushed twice, the first time
    for its shapes.
    """
    params = eqn.params
    values = [dense_value(operand, families, "shard_map") for operand in operands]
    traced, known = eqx.partition(families, lambda leaf: isinstance(leaf, jax.Array))
    leaves, structure = jax.tree.flatten((traced, values))
    whole = [jax.P()] * len(jax.tree.leaves(traced))

    def push(*leaves: Any) -> list[Value]:
        there, inputs = jax.tree.unflatten(structure, leaves)
        inner = eqx.combine(there, known)
        pushed = interpret(params["jaxpr"], (), inner, inputs)
        arrays = [each if is_moving(each) else jnp.asarray(each) for each in pushed]
        return [dense_value(each, inner, "shard_map") for each in arrays]

    def on_devices(function: Callable[..., list[Any]], out_specs: Any) -> Callable[..., list[Any]]:
        return jax.shard_map(
            function,
            mesh=params["mesh"],
            in_specs=(*whole, *_specs(values, params["in_specs"])),
            out_specs=out_specs,
            axis_names=set(axes_mapped(params)),
            check_vma=params["check_vma"],
        )

    shapes: list[Any] = []

    def note_shapes(*leaves: Any) -> list[Any]:
        shapes[:] = jax.tree.map(lambda y: jax.ShapeDtypeStruct(y.shape, y.dtype), push(*leaves))
        return []

    jax.eval_shape(on_devices(note_shapes, []), *leaves)
    flat = on_devices(
        lambda *leaves: jax.tree.leaves(push(*leaves)), _specs(shapes, params["out_specs"])
    )
    return jax.tree.unflatten(jax.tree.structure(shapes), flat(*leaves))


def _specs(values: Sequence[Value], specs: Sequence[jax.P]) -> list[jax.P]:
    """How each array of each value lies on the devices, given how its primal does: axes in front of
    the primal's are whole.
    """
    return [
        _with_lead(jnp.ndim(leaf) - jnp.ndim(primal_of(value)), spec)
        for value, spec in zip(values, specs, strict=True)
        for leaf in jax.tree.leaves(value)
    ]


def _with_lead(lead: int, spec: jax.P) -> jax.P:
    return jax.P(*[None] * lead, *spec, unreduced=spec.unreduced, reduced=spec.reduced)


enter(["shard_map"], Primitive(shard_map, "control flow", evaluate=bind_call))
enter(["axis_index"], Primitive(mixes=False))

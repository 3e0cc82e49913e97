"""Functions of one point, with a way of their own to be one of many points.

`jax.vmap` makes a loop over points of `each_point`. What belongs to one point stays in the caches
of a CPU then: no array of all points is transposed, or broadcast to be multiplied. The gradient by
what all points share is added up by the loop.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

Batching: TypeAlias = Callable[..., tuple[list[Any], list[int]]]
"""A rule of `jax.vmap`: operands, the axes along which they are mapped, and parameters."""


def each_point(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of arrays, which may have nothing of its own but these."""
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*operands)
    assert not closed.consts
    outputs = each_point_p.bind(*jax.tree.leaves(operands), jaxpr=closed)
    return jax.tree.unflatten(jax.tree.structure(shape), outputs)


def written_out(*operands: Any, jaxpr: jex.ClosedJaxpr, **_: Any) -> list[Any]:
    """The inner program itself."""
    return jex.jaxpr_as_fun(jaxpr)(*operands)


def _jvp(primals: Any, tangents: Any, *, jaxpr: jex.ClosedJaxpr, **_: Any) -> Any:
    """Of one point alone, as if it were written out."""
    moving = [n for n, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]

    def of_moving(*values: Any) -> list[Any]:
        operands = list(primals)
        for n, value in zip(moving, values, strict=True):
            operands[n] = value
        return written_out(*operands, jaxpr=jaxpr)

    return jax.jvp(of_moving, [primals[n] for n in moving], [tangents[n] for n in moving])


def call_at_points(name: str, batching_rule: Batching) -> jex.Primitive:
    """A call of an inner program, the parameter `jaxpr`, that `jax.vmap` maps by a rule."""
    call = jex.Primitive(name)
    call.multiple_results = True
    call.def_impl(written_out)
    call.def_abstract_eval(lambda *_, jaxpr, **__: jaxpr.out_avals)
    mlir.register_lowering(call, mlir.lower_fun(written_out, multiple_results=True))
    ad.primitive_jvps[call] = _jvp
    batching.primitive_batchers[call] = batching_rule
    return call


def in_a_loop(
    function: Callable[..., list[Any]], operands: Any, axes: Any, size: int | None = None
) -> tuple[list[Any], list[int]]:
    """A batching rule's outputs: a function at one point after another, or at `size` of them."""
    mapped = {n: axis for n, axis in enumerate(axes) if axis is not None}
    points = [jnp.moveaxis(operands[n], axis, 0) for n, axis in mapped.items()]

    def at(point: list[Any]) -> list[Any]:
        values = list(operands)
        for n, value in zip(mapped, point, strict=True):
            values[n] = value
        return function(*values)

    outputs = lax.map(at, points, batch_size=size)
    return outputs, [0] * len(outputs)


def _one_by_one(operands: Any, axes: Any, *, jaxpr: jex.ClosedJaxpr) -> tuple[list[Any], list[int]]:
    return in_a_loop(functools.partial(written_out, jaxpr=jaxpr), operands, axes)


each_point_p = call_at_points("each_point", _one_by_one)

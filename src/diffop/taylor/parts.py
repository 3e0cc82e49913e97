"""Bounded memory: points pushed a part of them at a time.

What XLA sets aside for arrays between two layers grows with the points that `jax.vmap` takes
together, and with the orders of the jets. What is larger than 32 MiB the GNU C library asks the
kernel for at each call, and gives back afterwards; the kernel makes its pages anew, one by one.
With jets of order eight at a hundred points that took as long as all arithmetic.

So many points go through in parts, in a loop, each under `jax.checkpoint`. A part is as large as
there is room for: its products still fill several cores.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core as jex
from jaxtyping import PyTree

from .chunks import peak_bytes
from .points import are_one_by_one, call_at_points, in_a_loop, written_out
from .program import axes_mixed, own_policy

HIGH = 5
"""The order from which on parts are worth it: reverse mode pushes each of them once more."""
ROOM = 18 * 2**20
"""Bytes for the arrays of a part, as they are counted without knowing what XLA fuses. In reverse
mode it is up to two thirds more.
"""


def in_parts(function: Callable[[], PyTree]) -> PyTree:
    """What a function makes of all that it refers to. If `jax.vmap` maps over some of it, a part of
    the points at a time, on a lone CPU; not where points learn of one another.
    """
    closed, shape = jax.make_jaxpr(function, return_shape=True)()
    structure = jax.tree.structure(shape)
    mixing = any(axes_mixed(eqn) for eqn in closed.jaxpr.eqns)
    if mixing or closed.effects or not are_one_by_one(*closed.consts):
        return jax.tree.unflatten(structure, jex.jaxpr_as_fun(closed)())

    def of_operands(*operands: Any) -> list[Any]:
        return jex.jaxpr_as_fun(jex.ClosedJaxpr(closed.jaxpr, operands))()

    program = jax.make_jaxpr(of_operands)(*closed.consts)
    assert not program.consts
    return jax.tree.unflatten(structure, in_parts_p.bind(*closed.consts, jaxpr=program))


def _batch(operands: Any, axes: Any, *, jaxpr: jex.ClosedJaxpr) -> tuple[list[Any], list[int]]:
    function = functools.partial(written_out, jaxpr=jaxpr)
    mapped = {n: axis for n, axis in enumerate(axes) if axis is not None}
    (count,) = {operands[n].shape[axis] for n, axis in mapped.items()}
    parts = min(count, -(-count * peak_bytes(jaxpr, mapped) // ROOM))
    if parts < 2:
        outputs = jax.vmap(function, in_axes=tuple(axes))(*operands)
        return outputs, [0] * len(outputs)
    again = jax.checkpoint(function, prevent_cse=False, policy=own_policy)
    return in_a_loop(again, operands, axes, -(-count // parts))


in_parts_p = call_at_points("in_parts", _batch)

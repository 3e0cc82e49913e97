"""Bounded memory: points pushed a part of them at a time.

What XLA sets aside for arrays between two layers grows with the points that `jax.vmap` takes
together, and with the orders of the jets. What is larger than 32 MiB the GNU C library asks the
kernel for at each call, and gives back afterwards; the kernel makes its pages anew, one by one.
With jets of order eight at a hundred points that took as long as all arithmetic, and so it did for
the Laplacian in a thousand dimensions, through layers of 128.

So many points go through in parts, in a loop, each under `jax.checkpoint`. A part is as large as
there is room for: its products still fill several cores. Products of wide layers take longer than
the pages that they fill, and are kept for reverse mode. What is linearised once and applied many
times keeps all points together: a part would be pushed again in each application.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.extend.core as jex
from jax.core import Tracer
from jaxtyping import PyTree

from ..devices import on_lone_cpu
from ..versions import is_staged
from .chunks import peak_bytes
from .points import call_at_points, each_point_p, in_a_loop, written_out
from .program import axes_mixed, inner_programs, own_policy
from .rows import rows_dot_p

MANY = 60
"""Order² of a curve, added up over the curves through a point, from which on memory may matter."""
WHOLE = 20 * 2**20
"""Bytes up to which all points go together, as they are counted without knowing what XLA fuses.
Reverse mode pushes each part once more, which is not worth it where there is room for all.
"""
SMALL = 4
"""How many times as much as the points themselves the rest takes, up to which they go together: in
very many dimensions each part would read all of the first layer's matrix again.
"""
LOW, HIGH = 14 * 2**20, 18 * 2**20
"""Bytes for a part where points do not go together, of orders up to four and from five on. Reverse
mode has up to two and a half times as many, and of high orders less: there most of them are inside
of nonlinearities, of which nothing is kept.
"""
FEWEST = 10
"""Points of a part at least, but for what is left over, where layers are wide. With fewer, memory
is busy with what each part adds to their gradients.
"""

_are_together = contextvars.ContextVar("_are_together", default=False)


@contextlib.contextmanager
def all_points_together() -> Iterator[None]:
    """Where no points are taken in parts."""
    before = _are_together.set(True)
    try:
        yield
    finally:
        _are_together.reset(before)


def in_parts(function: Callable[[], PyTree], args: PyTree, order: int) -> PyTree:
    """What a function that pushes jets of an order makes of its arguments, which it knows already,
    and of all else that it refers to. If `jax.vmap` maps over some of it, a part of the points at a
    time, on a lone CPU; not where points learn of one another.
    """
    if _are_together.get() or not any(isinstance(x, Tracer) for x in jax.tree.leaves(args)):
        return function()
    closed, shape = jax.make_jaxpr(function, return_shape=True)()
    structure = jax.tree.structure(shape)
    mixing = any(axes_mixed(eqn) for eqn in closed.jaxpr.eqns)
    if mixing or closed.effects or not on_lone_cpu(*closed.consts):
        return jax.tree.unflatten(structure, jex.jaxpr_as_fun(closed)())

    jaxpr = closed.jaxpr.replace(constvars=(), invars=closed.jaxpr.constvars)
    program = jex.ClosedJaxpr(jaxpr, ())
    room = LOW if order < 5 else HIGH
    outputs = in_parts_p.bind(*closed.consts, jaxpr=program, room=room)
    return jax.tree.unflatten(structure, outputs)


def _batch(
    operands: Any, axes: Any, *, jaxpr: jex.ClosedJaxpr, room: int
) -> tuple[list[Any], list[int]]:
    function = functools.partial(written_out, jaxpr=jaxpr)
    mapped = {n: axis for n, axis in enumerate(axes) if axis is not None}
    (count,) = {operands[n].shape[axis] for n, axis in mapped.items()}
    points = sum(operands[n].nbytes for n in mapped)
    peak = count * peak_bytes(jaxpr, mapped)
    wide = _goes_one_by_one(jaxpr.jaxpr)
    most = count // FEWEST if wide else count
    parts = min(-(-peak // room), most)
    small = parts < 2 or peak <= max(WHOLE, SMALL * points) or _are_empty(jaxpr.jaxpr)
    # outside of `jit` a loop would be compiled in each call
    if small or not any(map(is_staged, operands)):
        outputs = jax.vmap(function, in_axes=tuple(axes))(*operands)
        return outputs, [0] * len(outputs)
    policy = _products if wide else own_policy
    again = jax.checkpoint(function, prevent_cse=False, policy=policy)
    return in_a_loop(again, operands, axes, _size(count, parts, most))


def _are_empty(jaxpr: jex.Jaxpr) -> bool:
    """Whether some of what goes in or out has no entries: `lax.map` cannot divide it."""
    kinds: list[Any] = [var.aval for var in (*jaxpr.invars, *jaxpr.outvars)]
    return not all(kind.size for kind in kinds)


def _goes_one_by_one(jaxpr: jex.Jaxpr) -> bool:
    """Whether layers are so wide that some products take points one after another."""
    return any(
        eqn.primitive is each_point_p or any(map(_goes_one_by_one, inner_programs(eqn)))
        for eqn in jaxpr.eqns
    )


def _products(primitive: jex.Primitive, *operands: Any, **params: Any) -> bool:
    """Keeps rows that were multiplied by a matrix, beside what is named to be kept."""
    return primitive is rows_dot_p or own_policy(primitive, *operands, **params)


def _size(count: int, least: int, most: int) -> int:
    """How many points a part has, if there are so many parts at least, and at most. Equal parts
    need no second program for what is left over, so there may be up to twice as many.
    """
    numbers = range(least, min(2 * least, most + 1))
    parts = next((n for n in numbers if count % n == 0), least)
    return -(-count // parts)


in_parts_p = call_at_points("in_parts", _batch)

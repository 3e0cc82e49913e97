"""Bounded memory: points are pushed in parts.

The memory that XLA sets aside for arrays between two layers grows with the points that `jax.vmap`
takes together, and with the orders of the jets. Beyond 32 MiB, the GNU C library asks the operating
system for it at each call and gives it back afterwards, and the system makes its pages anew, one by
one.

So many points go through in parts, in a loop, each under `jax.checkpoint`. A part is large enough
for its products to fill several cores. Products of wide layers take longer than making the pages
that they fill, so they are kept for reverse mode. If a function is linearised once and applied many
times, all points stay together, since each part would be pushed again in each application. So they
do where their number is not known, but a symbol (`jax.export`).

A single mapped point, and a part of one point, is pushed without its axis, unless layers are wide:
XLA on CPUs adds up over directions many times more slowly behind an axis of size one.

Gain, on a CPU: without it, an exact Laplacian in 1,000 dimensions and its gradient take 1.1 times
as long and four times the temporary memory; estimates of order eight take twice the memory. The
kinetic energy of one walker of 30 electrons with attention takes 2.1 times as long.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.extend.core as jex
from jax.export import is_symbolic_dim

from ..versions import inner_programs, is_staged
from . import device, halves, scaled_rows
from .memory import peak_bytes
from .points import in_a_loop
from .rows import NAME as ROWS
from .seam import Outputs, better, bound, kernel_p, mapped, written_out

NAME = "parts"
ONE_BY_ONE = (halves.NAME, scaled_rows.NAME)
"""The kernels that take points one after another if layers are wide."""
MANY = 60
"""Order², summed over the curves through a point, from which on memory may matter."""
WHOLE = 20 * 2**20
"""Bytes up to which all points go together, counted without knowledge of what XLA fuses. Reverse
mode pushes each part once more, which is not worthwhile if there is room for all.
"""
SMALL = 4
"""Points go together if the rest needs at most this many times the memory of the points: in very
many dimensions each part would read the whole matrix of the first layer again.
"""
LOW, HIGH = 14 * 2**20, 18 * 2**20
"""Bytes for a part if points do not go together, for orders up to four and from five on. Reverse
mode needs up to two and a half times as many, but less for high orders, where most of them are
inside nonlinearities and not kept.
"""
FEWEST = 10
"""The least number of points of a part if layers are wide, except for the remainder. With fewer
points, adding to the layers' gradients takes most of the memory traffic.
"""


Curves: TypeAlias = tuple[tuple[int, int], ...]
"""Orders, and the number of curves of each."""


def _applies(*, curves: Curves, **_: Any) -> bool:
    return sum(order**2 * count for order, count in curves) >= MANY and device.on_lone_cpu()


def _batch(
    operands: Any,
    axes: Any,
    *,
    jaxpr: jex.ClosedJaxpr,
    curves: Curves,
    policy: Callable[..., bool],
) -> Outputs:
    along = {n: axis for n, axis in enumerate(axes) if axis is not None}
    (count,) = {operands[n].shape[axis] for n, axis in along.items()}
    if is_symbolic_dim(count):
        return mapped(operands, axes, jaxpr)
    wide = _goes_one_by_one(jaxpr.jaxpr)
    if count == 1 and not wide:
        alone = {"curves": curves, "policy": policy}
        return in_a_loop(lambda *x: bound(NAME, jaxpr, x, alone), operands, axes)
    points = sum(operands[n].nbytes for n in along)
    peak = count * peak_bytes(jaxpr, along)
    most = count // FEWEST if wide else count
    room = LOW if max(curves)[0] < 5 else HIGH
    parts = min(-(-peak // room), most)
    small = parts < 2 or peak <= max(WHOLE, SMALL * points) or _are_empty(jaxpr.jaxpr)
    # outside of `jit` a loop would be compiled at each call
    if small or not any(map(is_staged, operands)) or not device.on_lone_cpu(*operands):
        return mapped(operands, axes, jaxpr)
    kept = functools.partial(_products, policy) if wide else policy
    function = functools.partial(written_out, jaxpr=jaxpr)
    again = jax.checkpoint(function, prevent_cse=False, policy=kept)
    return in_a_loop(again, operands, axes, _size(count, parts, most))


def _are_empty(jaxpr: jex.Jaxpr) -> bool:
    """Whether some input or output is empty: `lax.map` cannot divide it."""
    kinds: list[Any] = [var.aval for var in (*jaxpr.invars, *jaxpr.outvars)]
    return not all(kind.size for kind in kinds)


def _goes_one_by_one(jaxpr: jex.Jaxpr) -> bool:
    """Whether layers are so wide that some products take points one after another."""
    return any(
        any(_is(eqn.primitive, eqn.params, name) for name in ONE_BY_ONE)
        or any(map(_goes_one_by_one, inner_programs(eqn)))
        for eqn in jaxpr.eqns
    )


def _is(primitive: jex.Primitive, params: Any, name: str) -> bool:
    return primitive is kernel_p and params["kernel"] == name


def _products(
    policy: Callable[..., bool], primitive: jex.Primitive, *operands: Any, **params: Any
) -> bool:
    """Keeps rows that were multiplied by a matrix, in addition to what is kept anyway."""
    return _is(primitive, params, ROWS) or policy(primitive, *operands, **params)


def _size(count: int, least: int, most: int) -> int:
    """How many points a part has, for at least and at most so many parts. Equal parts need no
    second program for a remainder, so there may be up to twice as many parts.
    """
    numbers = range(least, min(2 * least, most + 1))
    parts = next((n for n in numbers if count % n == 0), least)
    return -(-count // parts)


better(NAME, applies=_applies, batch=_batch)

"""Bounded memory: the directions of a family pushed a chunk at a time.

A collapsed family is a sum over its directions, so it is the sum over chunks of them, to rounding.
Each chunk is a pass of its own under `jax.checkpoint`, in a `lax.scan`: reverse mode recomputes a
chunk when it needs it, and memory does not grow with the number of directions.
"""

import math
import os
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import PyTree

from ..devices import start_of_sum
from .coefficients import ByDirection, ByEntry, Full
from .primitive import Inner, of
from .program import called, inner_programs
from .sparsity.by_entry import as_sparse

_POINTS = 1024
"""A point may use this part of the device's memory: as many are usually pushed side by side."""
_INPUTS = 16
"""What needs no more than this many times the point itself is no concern: u needs as much."""
_LEAST = 64


def chunk_size(directions: int, needed: int, point: int) -> int | None:
    """How many directions to push together, where all of them need so many bytes and the point has
    so many; None for all.
    """
    budget = max(device_memory() // _POINTS, _INPUTS * point)
    if needed <= budget:
        return None
    fitting = max(_LEAST, directions * budget // needed)
    size = 1 << (int(fitting).bit_length() - 1)
    return size if size < directions else None


def may_need_chunks(directions: int) -> bool:
    """Whether it is worth a look: with fewer directions a thousand entries each would fit."""
    return directions * 4096 > device_memory() // _POINTS


def device_memory() -> int:
    """Bytes of memory of the device that runs the program."""
    statistics = jax.local_devices()[0].memory_stats() or {}
    if "bytes_limit" in statistics:
        return statistics["bytes_limit"]
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # where the system does not tell
        return 16 * 2**30


def peak_bytes(closed: jex.ClosedJaxpr, inputs: Iterable[int] | None = None) -> int:
    """The most bytes that values which depend on a program's inputs, or on those with some numbers,
    need at one time.

    Nothing is known of what XLA fuses: this is from above. What does not depend on the inputs (a
    transposed matrix) is there once for all points.
    """
    every = closed.jaxpr.invars
    return _peak(closed.jaxpr, set(every if inputs is None else (every[n] for n in inputs)))


def _peak(jaxpr: jex.Jaxpr, depends: set[Any]) -> int:
    last: dict[Any, int] = {}
    for number, eqn in enumerate(jaxpr.eqns):
        last.update({atom: number for atom in _variables(eqn.invars)})
    last.update({atom: len(jaxpr.eqns) for atom in _variables(jaxpr.outvars)})
    live: set[Any] = set()
    now = peak = 0
    for number, eqn in enumerate(jaxpr.eqns):
        if any(atom in depends for atom in _variables(eqn.invars)):
            inside, outputs = _inside(eqn, depends)
            depends.update(outputs)
            new = {var for var in outputs if var in last}
            live |= new
            now += sum(map(_bytes, new))
            peak = max(peak, now + inside)
        dead = {atom for atom in live if last[atom] == number}
        now -= sum(map(_bytes, dead))
        live -= dead
    return peak


def _variables(atoms: Any) -> list[Any]:
    return [atom for atom in atoms if not isinstance(atom, jex.Literal)]


def _inside(eqn: jex.JaxprEqn, depends: set[Any]) -> tuple[int, list[Any]]:
    """What the inner programs of an equation need, and the outputs that depend: those of a call as
    its program says, given which of its operands do.
    """
    if of(eqn).inner is not Inner.CALLED:
        peaks = (_peak(program, set(program.invars)) for program in inner_programs(eqn))
        return max(peaks, default=0), list(eqn.outvars)
    program = called(eqn).jaxpr
    pairs = zip(program.invars, eqn.invars, strict=True)
    inner = {var for var, atom in pairs if _variables([atom]) and atom in depends}
    peak = _peak(program, inner)
    pairs = zip(program.outvars, eqn.outvars, strict=True)
    return peak, [var for made, var in pairs if _variables([made]) and made in inner]


def _bytes(var: Any) -> int:
    aval = var.aval
    return math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 1) if aval.shape else 0


def in_chunks(
    sum_over: Callable[[PyTree, Any], PyTree], tangents: PyTree, weights: Any, size: int
) -> PyTree:
    """Σ over chunks of `sum_over(tangents, weights)`.

    `tangents` are arrays with n rows (see `by_direction`), `weights` are `(*m, n)`. The last chunk
    is filled up with directions of weight zero.
    """
    count = weights.shape[-1]
    chunks = -(-count // size)
    cut = jax.tree.map(lambda leaf: _cut(leaf, chunks, size), tangents)
    weights = _cut(jnp.moveaxis(jnp.asarray(weights), -1, 0), chunks, size)

    @jax.checkpoint
    def one(part: tuple[PyTree, Any]) -> PyTree:
        return sum_over(part[0], jnp.moveaxis(part[1], 0, -1))

    first = jax.tree.map(lambda leaf: leaf[0], (cut, weights))
    zeros = start_of_sum(lambda: one(first))

    def step(total: PyTree, part: tuple[PyTree, Any]) -> tuple[PyTree, None]:
        return jax.tree.map(jnp.add, total, one(part)), None

    return lax.scan(step, zeros, (cut, weights))[0]


def _cut(leaf: Any, chunks: int, size: int) -> Any:
    """Rows `(n, …)` as `(chunks, size, …)`, zeros at the end."""
    missing = chunks * size - leaf.shape[0]
    leaf = jnp.asarray(leaf)
    if missing:
        leaf = jnp.concatenate([leaf, jnp.zeros((missing, *leaf.shape[1:]), leaf.dtype)])
    return leaf.reshape(chunks, size, *leaf.shape[1:])


def by_direction(coefficient: Any, dtype: Any) -> Any:
    """A tangent whose arrays have one row for each direction."""
    if isinstance(coefficient, Full):
        return Full(coefficient.array)
    c = as_sparse(coefficient, dtype) if isinstance(coefficient, ByEntry) else coefficient
    if not isinstance(c, ByDirection):
        return c
    return ByDirection(jnp.asarray(c.positions), c.values, c.distinct)

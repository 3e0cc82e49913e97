"""Nested `jax.jvp` of random programs, operation by operation.

T takes f to (x, t) ↦ (f(x), Df(x) t), which is what `jax.jvp` is. T(f ∘ g) = Tf ∘ Tg is the chain
rule, and nesting `jax.jvp` k times is Tᵏ. So each operation is nested and traced once, for all
programs; a program's derivatives are those of its operations one after the other.

A value of Tᵏ is a pair of values of Tᵏ⁻¹, and its last entry the derivative along all k directions.
"""

import functools
import itertools

import jax
import numpy as np

from .evaluation import run
from .operations import SHAPES, SIZE


def derivatives(program, x, coordinates):
    """∂_i ∂_j … u at a point, for each row (i, j, …) of coordinates of one length."""
    (order,) = {len(row) for row in coordinates}
    found = _all(program.reference, tuple(x.tolist()), x.dtype.name, order)
    rows = _rows(order)
    return found[[rows.index(tuple(sorted(row))) for row in coordinates]]


@functools.cache
def _rows(order):
    """All that differ, so that programs for each have one shape."""
    return list(itertools.combinations_with_replacement(range(SIZE), order))


@functools.lru_cache(maxsize=16)
def _all(program, point, dtype, order):
    """All derivatives of an order; kept, as several checks of a program need them."""
    directions = np.eye(SIZE, dtype=dtype)[np.array(_rows(order), int)]

    value = np.array(point, dtype)
    for k in range(order):
        still = jax.tree.map(lambda each: np.zeros_like(directions[:, k]), value)
        value = (value, _with_first(still, directions[:, k]))

    def apply(operation, values):
        jaxpr, structure = _nested(operation.function, operation.takes, order, dtype)
        return jax.tree.unflatten(structure, run(jaxpr, jax.tree.leaves(values)))

    last = [jax.tree.leaves(u)[-1] for u in program.by(apply, value)]
    return sum(u.reshape(len(directions), -1).sum(1) for u in last)


def _with_first(tree, first):
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, [first, *leaves[1:]])


@functools.lru_cache(maxsize=2**12)
def _nested(function, takes, order, dtype):
    """Tᵏ of an operation at the point and each row of directions, and the structure of what it
    gives.
    """
    pushed, axes = function, None
    operands = [jax.ShapeDtypeStruct(SHAPES[kind], dtype) for kind in takes]
    of_rows = [jax.ShapeDtypeStruct((len(_rows(order)), *SHAPES[kind]), dtype) for kind in takes]
    for _ in range(order):
        pushed = _pushed(pushed)
        operands = [
            (each, jax.tree.map(lambda _: row, each))
            for each, row in zip(operands, of_rows, strict=True)
        ]
        axes = (axes, jax.tree.map(lambda _: 0, axes, is_leaf=lambda leaf: leaf is None))
    mapped = jax.vmap(pushed, (axes,) * len(takes), axes)
    jaxpr, shapes = jax.make_jaxpr(mapped, return_shape=True)(*operands)
    return jaxpr, jax.tree.structure(shapes)


def _pushed(function):
    def of(*pairs):
        primals, tangents = zip(*pairs, strict=True)
        return jax.jvp(function, primals, tangents)

    return of

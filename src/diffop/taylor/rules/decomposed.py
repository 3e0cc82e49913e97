"""Rules of primitives that are pushed as combinations of others.

Products of many factors are trees of products of two, which all directions share, with the top
order collapsed. Stacks are concatenations, which sparse directions pass through. 1 − x² (a
primitive of JAX ≥ 0.12) is a square, which has nothing above order two.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ..binding import bind
from ..bundle import Bundle, Families, Value, primal_of
from ..interpreter import interpret
from ..primitive import Primitive, enter


def pushed_as(
    function: Callable[..., Any], families: Families, operands: Sequence[Value]
) -> list[Value]:
    closed = jax.make_jaxpr(function)(*map(primal_of, operands))
    return interpret(closed.jaxpr, closed.consts, families, operands)


def product_of_entries(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """Halves are multiplied until one factor is left. If the number is odd, the last factor waits:
    it is a product of fewer factors, so it has fewer directions than the others.
    """
    axes = eqn.params["axes"]
    kept = [axis for axis in range(primal_of(operands[0]).ndim) if axis not in axes]

    def tree(x: Array) -> Array:
        shape = tuple(x.shape[axis] for axis in kept)
        x = lax.reshape(
            lax.transpose(x, (*kept, *axes)), (*shape, math.prod(x.shape[a] for a in axes))
        )
        if x.shape[-1] == 0:
            return jnp.ones(shape, x.dtype)
        odd: list[Array] = []
        while (count := x.shape[-1]) > 1:
            half = count // 2
            if count % 2:
                odd.append(x[..., -1])
            x = x[..., :half] * x[..., half : 2 * half]
        return functools.reduce(lax.mul, [*odd, x[..., 0]])

    return pushed_as(tree, families, operands)


def cumulative_product(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    axis, reverse = eqn.params["axis"], eqn.params["reverse"]

    def tree(x: Array) -> Array:
        return lax.associative_scan(lax.mul, x, reverse=reverse, axis=axis)

    return pushed_as(tree, families, operands)


def stack_rule(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    axis = eqn.params["axis"]

    def concatenation(*rows: Array) -> Array:
        return lax.concatenate([lax.expand_dims(row, (axis,)) for row in rows], axis)

    return pushed_as(concatenation, families, operands)


def unstack(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    axis = eqn.params["axis"]

    def rows(x: Array) -> list[Array]:
        return [lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])]

    return pushed_as(rows, families, operands)


def one_minus_square(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """The primal is JAX's own, (1 + x)(1 − x), which keeps its digits near 1."""
    (primal,) = bind(eqn, [primal_of(operands[0])])
    (pushed,) = pushed_as(lambda x: 1 - lax.square(x), families, operands)
    return [Bundle(primal, pushed.series)]


enter(["reduce_prod"], Primitive(product_of_entries, "decomposed"))
enter(["cumprod"], Primitive(cumulative_product, "decomposed"))
enter(["stack"], Primitive(stack_rule, "decomposed"))
enter(["unstack"], Primitive(unstack, "decomposed"))
enter(["one_minus_square"], Primitive(one_minus_square, "decomposed"))

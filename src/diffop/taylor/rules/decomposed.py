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


def by_program(made: Callable[[dict[str, Any]], Callable[..., Any]], kind: str) -> Primitive:
    """The record of a primitive that is pushed as a program, made from its parameters."""

    def rule(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
        return pushed_as(made(eqn.params), families, operands)

    return Primitive(rule, kind)


def _product(x: Array, axes: Sequence[int]) -> Array:
    """Halves are multiplied until one factor is left. If the number is odd, the last factor waits:
    it is a product of fewer factors, so it has fewer directions than the others.
    """
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    shape = tuple(x.shape[axis] for axis in kept)
    x = lax.reshape(lax.transpose(x, (*kept, *axes)), (*shape, math.prod(x.shape[a] for a in axes)))
    if x.shape[-1] == 0:
        return jnp.ones(shape, x.dtype)
    odd: list[Array] = []
    while (count := x.shape[-1]) > 1:
        half = count // 2
        if count % 2:
            odd.append(x[..., -1])
        x = x[..., :half] * x[..., half : 2 * half]
    return functools.reduce(lax.mul, [*odd, x[..., 0]])


def _stack(*rows: Array, axis: int) -> Array:
    return lax.concatenate([lax.expand_dims(row, (axis,)) for row in rows], axis)


def _unstack(x: Array, axis: int) -> list[Array]:
    return [lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])]


def one_minus_square(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """The primal is JAX's own, (1 + x)(1 − x), which keeps its digits near 1."""
    (primal,) = bind(eqn, [primal_of(operands[0])])
    (pushed,) = pushed_as(lambda x: 1 - lax.square(x), families, operands)
    return [Bundle(primal, pushed.series)]


def _enter(name: str, function: Callable[..., Any], *names: str) -> None:
    def made(params: dict[str, Any]) -> Callable[..., Any]:
        return functools.partial(function, **{each: params[each] for each in names})

    enter([name], by_program(made, "decomposed"))


_enter("reduce_prod", _product, "axes")
_enter("cumprod", functools.partial(lax.associative_scan, lax.mul), "reverse", "axis")
_enter("stack", _stack, "axis")
_enter("unstack", _unstack, "axis")
enter(["one_minus_square"], Primitive(one_minus_square, "decomposed"))

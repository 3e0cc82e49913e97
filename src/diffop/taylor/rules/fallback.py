"""The rule for every primitive without one of its own: push each curve by integrating the
primitive's jvp.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array

from ..binding import bind, partially_bound, where
from ..bundle import Families, Family, Value, expand, is_moving, primal_of
from ..coefficients import Series, Zero, all_zero, linear_map, total
from ..curve import push_curve
from ..registry import register_fallback

_logger = logging.getLogger("diffop.taylor")
_logged: set[str] = set()


class UnsupportedPrimitiveError(NotImplementedError):
    """A function uses a primitive that JAX itself cannot differentiate in forward mode."""


@register_fallback
def fallback(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Always right where `jax.jvp` is; slower than a rule of its own, so the first use is
    logged.
    """
    name = eqn.primitive.name
    if name not in _logged:
        _logged.add(name)
        _logger.info("primitive %s has no Taylor rule: its jvp is integrated instead", name)
    primals = [primal_of(operand) for operand in operands]
    moving = [position for position, operand in enumerate(operands) if is_moving(operand)]
    outputs = bind(eqn, primals)
    inexact = [p for p, y in enumerate(outputs) if jnp.issubdtype(y.dtype, jnp.inexact)]
    bound = partially_bound(eqn, primals, moving)

    def function(*arguments: Array) -> list[Any]:
        results = bound(*arguments)
        return [results[position] for position in inexact]

    point = [primals[position] for position in moving]

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        return _expand(function, point, family, [series[position] for position in moving])

    _check_differentiable(eqn, function, point)
    pushed = expand(families, operands, [outputs[position] for position in inexact], expansion)
    results: list[Value] = list(outputs)
    for position, value in zip(inexact, pushed, strict=True):
        results[position] = value
    return results


def _check_differentiable(
    eqn: jex.JaxprEqn, function: Callable[..., list[Any]], point: Sequence[Array]
) -> None:
    """Ask JAX once, so that a missing rule is reported with the primitive and the line of the
    user's function.
    """
    try:
        jax.eval_shape(lambda *xs: jax.jvp(function, xs, xs), *point)
    except (NotImplementedError, TypeError, ValueError) as error:
        raise UnsupportedPrimitiveError(
            f"diffop cannot differentiate the primitive '{eqn.primitive.name}' ({where(eqn)}), "
            f"because jax.jvp cannot: {error}. Give the function a rule with jax.custom_jvp."
        ) from error


def _expand(
    function: Callable[..., list[Any]],
    point: Sequence[Array],
    family: Family,
    series: Sequence[Series],
) -> list[Series]:
    """Split the top: y_K = J x̄_K + Σ_r w_r (order K of curve r with x_K = 0), x̄_K being collapsed
    already.
    """
    order = family.order

    def tangent(*tangents: Array) -> list[Any]:
        return jax.jvp(function, tuple(point), tangents)[1]

    tops = linear_map(tangent, family.lead(order), [terms[-1] for terms in series], point)
    curves = _curves(function, point, family, [terms[:-1] for terms in series])
    count = max(len(tops), len(curves))
    tops = tops or [Zero()] * count
    curves = curves or [(Zero(),) * order] * count
    return [
        (*curve[:-1], total([top, family.collapse(curve[-1])]))
        for top, curve in zip(tops, curves, strict=True)
    ]


def _curves(
    function: Callable[..., list[Any]],
    point: Sequence[Array],
    family: Family,
    lower: Sequence[Series],
) -> list[Series]:
    """Push every curve by itself, its coefficient of order K being zero."""
    if all(map(all_zero, lower)):
        return []

    def push(terms: Any) -> list[Series]:
        return push_curve(function, point, [(*t, Zero()) for t in terms], family.order)

    return jax.vmap(push)(lower) if family.curves else push(lower)

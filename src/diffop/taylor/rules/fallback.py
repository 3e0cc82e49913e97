"""The rule for every primitive without one of its own: push each curve by integrating the
primitive's jvp.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array

from ..arithmetic import instantiate, total
from ..binding import bind, partially_bound, where
from ..bundle import Families, Family, Value, dense_series, expand, is_moving, primal_of
from ..coefficients import Blocks, Coefficient, Dense, Series, Zero, all_zero, blocks, zeros
from ..curve import push_curve
from ..moments import Moment
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
        dense = [
            dense_series(family, series[position], primals[position], name) for position in moving
        ]
        return _expand(function, point, family, dense)

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
    outputs = jax.eval_shape(function, *point)
    linear = _Tangents(function, point, outputs)
    tops = linear.map([terms[-1] for terms in series], family.lead(family.order))
    lower = [terms[:-1] for terms in series]
    if all(map(all_zero, lower)):
        return [(*zeros(family.order - 1), top) for top in tops]
    if family.moment is not None:
        first = linear.map([terms[0] for terms in lower], 1)
        rest = _second_order(function, point, family.moment, [terms[0] for terms in lower])
        return [
            (y, total([top, second], len(family.moment.sums), output))
            for y, top, second, output in zip(first, tops, rest, outputs, strict=True)
        ]
    return [
        (*curve[:-1], total([top, family.collapse(curve[-1], y)], family.lead(family.order), y))
        for top, curve, y in zip(
            tops, _curves(function, point, family, lower), outputs, strict=True
        )
    ]


@final
class _Tangents:
    """The jvp of a function at a point, as a linear map of coefficients."""

    def __init__(
        self, function: Callable[..., list[Any]], point: Sequence[Array], outputs: Sequence[Any]
    ) -> None:
        self._function = function
        self._point = tuple(point)
        self._outputs = outputs

    def map(self, coefficients: Sequence[Coefficient], lead: int) -> list[Coefficient]:
        if all_zero(coefficients):
            return [Zero() for _ in self._outputs]
        counts = {len(c.parts) for c in coefficients if isinstance(c, Blocks)}
        if counts:
            columns = [
                self.map([c.parts[i] if isinstance(c, Blocks) else c for c in coefficients], 1)
                for i in range(counts.pop())
            ]
            return [blocks(parts) for parts in zip(*columns, strict=True)]
        axes = tuple(0 if isinstance(c, Dense) else None for c in coefficients)
        arrays = [
            c.array if isinstance(c, Dense) else jnp.zeros_like(x)
            for c, x in zip(coefficients, self._point, strict=True)
        ]

        def tangent(*tangents: Array) -> list[Any]:
            return jax.jvp(self._function, self._point, tangents)[1]

        for _ in range(lead):
            tangent = jax.vmap(tangent, in_axes=axes)
        return [Dense(jnp.asarray(array)) for array in tangent(*arrays)]


def _curves(
    function: Callable[..., list[Any]],
    point: Sequence[Array],
    family: Family,
    lower: Sequence[Series],
) -> list[Series]:
    """Push every curve by itself, its coefficient of order K being zero."""

    def push(terms: Any) -> list[Series]:
        return push_curve(function, point, [(*t, Zero()) for t in terms], family.order)

    return jax.vmap(push)(lower) if family.curves else push(lower)


def _second_order(
    function: Callable[..., list[Any]],
    point: Sequence[Array],
    moment: Moment,
    first: Sequence[Coefficient],
) -> list[Coefficient]:
    """Σ_ij M_ij f''(a_i, a_j) / 2 along the curves that stand for a moment."""
    curves = moment.as_curves(first, point)
    weights = curves.weights

    def push(*rows: Array) -> list[Array]:
        def along(*directions: Array) -> list[Any]:
            series = [(Dense(v), Zero()) for v in directions]
            pushed = push_curve(function, point, series, 2)
            return [instantiate(y[1], (), x).array for y, x in zip(pushed, outputs, strict=True)]

        return [
            jnp.tensordot(jnp.asarray(weights, y.dtype), y, axes=1) for y in jax.vmap(along)(*rows)
        ]

    outputs = jax.eval_shape(function, *point)
    for _ in moment.sums:
        push = jax.vmap(push)
    return [Dense(y) for y in push(*curves.rows)]

"""The rule for every primitive without one of its own: push each jet by integrating the
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
from ..bundle import (
    Families,
    Family,
    Value,
    dense_series,
    expand,
    is_moving,
    primal_of,
    series_of,
)
from ..coefficients import Blocks, Coefficient, Dense, Series, Zero, all_zero, blocks
from ..moments import Moment
from ..one_jet import push_jet
from ..registry import register_fallback
from ..truncation import Truncation

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
    """Split the tops: y_K = J x̄_K + Σ_r w_r (order K of jet r with x_K = 0), x̄_K being collapsed
    already; in the same way for each maximal monomial.
    """
    outputs = jax.eval_shape(function, *point)
    linear = _Tangents(function, point, outputs)
    own = {
        place: linear.map([terms[place] for terms in series], family.lead(place))
        for place in family.truncation.tops
    }
    lower = [_without_tops(family, terms) for terms in series]
    rest = _lower(function, point, family, lower, outputs, linear)
    return [
        tuple(
            total([own[place][k], term], family.lead(place), y) if place in own else term
            for place, term in enumerate(terms)
        )
        for k, (terms, y) in enumerate(zip(rest, outputs, strict=True))
    ]


def _without_tops(family: Family, series: Series) -> Series:
    return tuple(Zero() if family.is_top(place) else c for place, c in enumerate(series))


def _lower(
    function: Callable[..., list[Any]],
    point: Sequence[Array],
    family: Family,
    series: Sequence[Series],
    outputs: Sequence[Any],
    linear: "_Tangents",
) -> list[Series]:
    """The output series of jets whose tops are zero, with collapsed tops."""
    if all(map(all_zero, series)):
        return [series_of(y, (family,), 0) for y in outputs]
    if family.moment is not None:
        lower = [terms[0] for terms in series]
        second = _second_order(function, point, family.moment, lower)
        return list(zip(linear.map(lower, 1), second, strict=True))
    return [
        tuple(
            family.collapse(term, y) if family.is_top(place) else term
            for place, term in enumerate(terms)
        )
        for terms, y in zip(_jets(function, point, family, series), outputs, strict=True)
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


def _jets(
    function: Callable[..., list[Any]],
    point: Sequence[Array],
    family: Family,
    series: Sequence[Series],
) -> list[Series]:
    """Push every jet by itself."""

    def push(terms: Any) -> list[Series]:
        return push_jet(function, point, terms, family.truncation)

    return jax.vmap(push)(series) if family.curves else push(series)


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
            pushed = push_jet(function, point, series, Truncation.curve(2))
            return [instantiate(y[1], (), x).array for y, x in zip(pushed, outputs, strict=True)]

        return [
            jnp.tensordot(jnp.asarray(weights, y.dtype), y, axes=1) for y in jax.vmap(along)(*rows)
        ]

    outputs = jax.eval_shape(function, *point)
    for _ in moment.sums:
        push = jax.vmap(push)
    return [Dense(y) for y in push(*curves.rows)]

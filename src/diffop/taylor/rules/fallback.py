"""The rule for every primitive without one of its own: push each jet by integrating the
primitive's jvp.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array

from ..arithmetic import instantiate, total
from ..binding import where
from ..bundle import (
    Families,
    Family,
    Value,
    series_of,
)
from ..coefficients import Coefficient, Full, Series, Zero, all_zero
from ..one_jet import push_jet
from ..primitive import Primitive, enter_others
from ..second_moments import SecondMoment
from ..truncation import Truncation
from .moving_part import MovingPart
from .tangents import Tangents

_logger = logging.getLogger("diffop.taylor")
_logged: set[str] = set()


class UnsupportedPrimitiveError(NotImplementedError):
    """A function uses a primitive that JAX itself cannot differentiate in forward mode."""


def fallback(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """Always right where `jax.jvp` is; slower than a rule of its own, so the first use is
    logged.
    """
    name = eqn.primitive.name
    if name not in _logged:
        _logged.add(name)
        _logger.info("primitive %s has no Taylor rule: its jvp is integrated instead", name)
    part = MovingPart(eqn, operands)
    check_differentiable(eqn, part.function, part.point)
    return part.pushed(families, partial(_expand, part.function, part.point))


def check_differentiable(
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
    linear = Tangents(function, point, outputs)
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
    linear: Tangents,
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
    moment: SecondMoment,
    first: Sequence[Coefficient],
) -> list[Coefficient]:
    """Σ_ij M_ij f''(a_i, a_j) / 2 along the pairs that stand for a moment."""
    pairs = moment.as_pairs(first, point)
    still = [rows for rows, _ in pairs]
    pair = Truncation.pair()

    def push(*partners: Array) -> list[Array]:
        def along(*directions: tuple[Array, Array]) -> list[Any]:
            series = [(Full(a), Full(b), Zero()) for a, b in directions]
            pushed = push_jet(function, point, series, pair)
            return [instantiate(y[-1], (), x).array for y, x in zip(pushed, outputs, strict=True)]

        pushed = jax.vmap(along)(*zip(still, partners, strict=True))
        return [jnp.sum(y, axis=0) for y in pushed]

    outputs = jax.eval_shape(function, *point)
    for _ in moment.sums:
        push = jax.vmap(push)
    return [Full(y, 0.5) for y in push(*(partners for _, partners in pairs))]


enter_others(Primitive(fallback, "jvp, integrated"))

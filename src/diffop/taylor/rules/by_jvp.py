"""Rules for primitives of which only their jvp is known.

Primitives that choose among their entries are linear wherever the choice stays the same. For small
t the largest entry of x + t v is the one that is largest at x, so every coefficient goes through
the same map, `jax.jvp` at the primal. If entries are equal, the map is JAX's (a maximum divides its
derivative among them). As in JAX the choice itself has no derivative.

For all other primitives each jet is pushed by integrating the jvp.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, final

import jax
import jax.extend.core as jex
import numpy as np
from jaxtyping import Array

from ...algebra.algebra import Algebra
from ..arithmetic import linear_map
from ..binding import bind, partially_bound, where
from ..bundle import (
    Families,
    Family,
    Value,
    dense_value,
    expand_families,
    inexact_places,
    is_moving,
    primal_of,
    series_of,
)
from ..coefficients import Coefficient, Full, Series, Zero, all_zero, scale
from ..equation import LinearMap
from ..one_jet import push_jet
from ..primitive import Primitive, enter, enter_others
from ..replacing.second_moments import SecondMoment

_logger = logging.getLogger("diffop.taylor")
_logged: set[str] = set()


class UnsupportedPrimitiveError(NotImplementedError):
    """A function uses a primitive that JAX itself cannot differentiate in forward mode."""


@contextlib.contextmanager
def _blamed(eqn: jex.JaxprEqn, *errors: type[Exception]) -> Iterator[None]:
    """Adds the equation and its line to an error if JAX cannot differentiate it."""
    try:
        yield
    except UnsupportedPrimitiveError:
        raise
    except errors as error:
        reason = str(error).rstrip(".")  # some of JAX's messages are sentences
        raise UnsupportedPrimitiveError(
            f"diffop cannot differentiate the primitive '{eqn.primitive.name}' ({where(eqn)}), "
            f"because JAX cannot: {reason}. Give the function a rule with jax.custom_jvp."
        ) from error


@final
class _MovingPart:
    """An equation as a `function` from the operands that move to the outputs that have derivatives,
    at a `point`, with the `values` there and its `derivative`.
    """

    def __init__(self, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> None:
        primals = [primal_of(operand) for operand in operands]
        moving = [p for p, operand in enumerate(operands) if is_moving(operand)]
        self._name = eqn.primitive.name
        self._operands = operands
        self._outputs = bind(eqn, primals)
        self._moving = moving
        self._inexact = inexact_places(self._outputs)
        self._bound = partially_bound(eqn, primals, moving)
        self.point = [primals[p] for p in moving]
        self.values = [self._outputs[p] for p in self._inexact]
        self.derivative = LinearMap(eqn, primals, moving, self.values, self._jvp)
        self._check_differentiable(eqn)

    def function(self, *arguments: Array) -> list[Any]:
        results = self._bound(*arguments)
        return [results[p] for p in self._inexact]

    def _jvp(self, *tangents: Array) -> list[Any]:
        return jax.jvp(self.function, tuple(self.point), tangents)[1]

    def _check_differentiable(self, eqn: jex.JaxprEqn) -> None:
        """Tries JAX once, so that a missing rule is reported with the primitive and the line of the
        user's function.
        """
        with _blamed(eqn, NotImplementedError, TypeError, ValueError):
            jax.eval_shape(self._jvp, *self.point)

    def pushed(
        self,
        families: Families,
        expansion: Callable[[Family, Sequence[Series]], list[Series]],
    ) -> list[Value]:
        """All outputs of the equation; `expansion` maps dense series of the function's arguments to
        those of its values.
        """

        results: list[Value] = list(self._outputs)
        dense = [dense_value(self._operands[p], families, self._name) for p in self._moving]
        expanded = expand_families(families, dense, self.values, expansion)
        for p, value in zip(self._inexact, expanded, strict=True):
            results[p] = value
        return results

    def mapped(self, family: Family, series: Sequence[Series], place: int) -> Sequence[Coefficient]:
        """The derivative of the coefficients at a place."""
        return linear_map(self.derivative, family.lead(place), [terms[place] for terms in series])


def of_one_direction(families: Families) -> bool:
    """Whether each family is one direction, at order one. Then JAX's own derivative is all that
    there is to a push.
    """
    return all(family.order == 1 and not family.jet_axes for family in families)


def piecewise_linear(
    families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]
) -> list[Value]:
    """y_k = J x_k for every order k, where J is the derivative at the primal."""
    part = _MovingPart(eqn, operands)

    def expansion(family: Family, series: Sequence[Series]) -> list[Series]:
        columns = [part.mapped(family, series, place) for place in family.places]
        return list(zip(*columns, strict=True))

    return part.pushed(families, expansion)


def fallback(families: Families, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> list[Value]:
    """The general rule: correct wherever `jax.jvp` is, but slower than a specific rule, so its
    first use is logged.
    """
    name = eqn.primitive.name
    if name not in _logged:
        _logged.add(name)
        _logger.info("primitive %s has no Taylor rule: its jvp is integrated instead", name)
    with _blamed(eqn, NotImplementedError, ValueError):
        part = _MovingPart(eqn, operands)
        return part.pushed(families, partial(_expand, part))


def _expand(part: _MovingPart, family: Family, series: Sequence[Series]) -> list[Series]:
    """Splits the tops: y_K = J x̄_K + Σ_r w_r (order K of jet r with x_K = 0), where x̄_K is
    already collapsed; in the same way for each maximal monomial.
    """
    tops = {place: part.mapped(family, series, place) for place in family.algebra.tops}
    lower = _lower(part, family, list(map(family.without_tops, series)))
    return [
        family.plus_tops(terms, {place: images[k] for place, images in tops.items()}, y)
        for k, (terms, y) in enumerate(zip(lower, part.values, strict=True))
    ]


def _lower(part: _MovingPart, family: Family, series: Sequence[Series]) -> list[Series]:
    """The output series of jets whose tops are zero, with collapsed tops."""
    if all(map(all_zero, series)):
        return [series_of(y, (family,), 0) for y in part.values]
    if family.moment is not None:
        second = _second_order(part, family.moment, [family.series_below(c) for c in series])
        lower = [part.mapped(family, series, place) for place in family.below.places]
        return list(zip(*lower, second, strict=True))

    def push(terms: Any) -> list[Series]:
        return push_jet(part.function, part.point, terms, family.algebra)

    each = jax.vmap(push)(series) if family.jet_axes else push(series)
    return [family.collapse_tops(terms, y) for terms, y in zip(each, part.values, strict=True)]


_PAIR = Algebra.closure([(1, 1)])


def _second_order(
    part: _MovingPart, moment: SecondMoment, lower: Sequence[Series]
) -> list[Coefficient]:
    """Σ_ij M_ij f''(a_i, a_j) / 2 along the pairs that represent a moment."""
    rows, partners = zip(*moment.as_pairs(lower, part.point), strict=True)
    size = len(rows[0])
    family = Family(np.ones(size), _PAIR, size)

    def push(*partners: Array) -> list[Coefficient]:
        series = [(Full(a), Full(b), Zero()) for a, b in zip(rows, partners, strict=True)]
        return [terms[-1] for terms in _lower(part, family, series)]

    for _ in moment.sums:
        push = jax.vmap(push)
    return [scale(each, 0.5) for each in push(*partners)]


_CHOOSING = [
    *("cummax", "cummin", "reduce_max", "reduce_min", "reduce_window_max", "reduce_window_min"),
    *("scatter-max", "scatter-min", "sort", "top_k"),
]
enter(_CHOOSING, Primitive(piecewise_linear, "choosing"))
enter_others(Primitive(fallback, "jvp, integrated"))

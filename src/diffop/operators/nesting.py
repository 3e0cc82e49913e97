"""Powers of second-order operators, one inside the other where that is cheaper than their jets.

The m-th power of a sum of N second derivatives has about N^m jets of order 2m, and each carries
2m − 1 coefficients besides the primal and the collapsed top: for Δ² in d dimensions d² jets with
three each. Applied to what it has made of u, the operator carries N + 2 values for each of the
N + 2 of the first application (the primal, N directions and the collapsed sum): (N + 2)^m in all.

    m = 2:   N = 2: 14 coefficients against 16,   N = 3: 29 against 25,   N = 10: 302 against 144.

Estimates keep their jets: a composition of two draws with one key would be biased.
"""

import equinox as eqx

from ..jets.point import Point
from ..jets.terms import Terms
from .term import Segment, Term

_MANY = 3
"""From this many terms on a power is nested."""


def nested(term: Term, point: Point) -> Term:
    """The term with every power that is cheaper so written as a composition."""
    word = tuple(part for segment in term.word for part in _parts(segment, point))
    return eqx.tree_at(lambda t: t.word, term, word) if len(word) > len(term.word) else term


def _parts(segment: Segment, point: Point) -> tuple[Segment, ...]:
    if not _is_large_power(segment, point):
        return (segment,)
    (factor,), (power,) = segment.factors, segment.powers
    once = Segment((), (factor,), (1,))
    return (Segment(segment.functions, (factor,), (1,)), *[once] * (power - 1))


def _is_large_power(segment: Segment, point: Point) -> bool:
    if len(segment.factors) != 1 or segment.powers[0] < 2:
        return False
    (factor,) = segment.factors
    if not isinstance(factor, Terms) or factor.order != 2 or factor.rank != 0:
        return False
    return factor.constant and factor.count(point) >= _MANY

"""Arranged factors among others: written out as coordinate derivatives, and reassembled."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from ..jets.arranged_terms import ArrangedTerms
from ..jets.index_terms import Monomial
from ..jets.point import Point
from ..schemes.expansion import Alpha
from .term import Segment

AnyDraw = TypeVar("AnyDraw")
Result = TypeVar("Result")


def written_out(
    requests: Sequence[tuple[Segment, AnyDraw | None]], point: Point
) -> list[tuple[Segment, AnyDraw | None]]:
    """The requests, with each arranged factor replaced by its derivatives, which are exact."""
    result: list[tuple[Segment, AnyDraw | None]] = []
    for segment, draw in requests:
        factor = _arranged(segment)
        if factor is None:
            result.append((segment, draw))
        else:
            result += [
                (Segment((), (Monomial(alpha),), (1,), segment.entries), None)
                for alpha in factor.derivatives(point)
            ]
    return result


def gathered(
    requests: Sequence[tuple[Segment, Any]], results: Sequence[Result], point: Point
) -> Iterator[tuple[ArrangedTerms | None, list[Result]]]:
    """For each request its arranged factor, if it is one, and its part of the results of the
    written-out requests.
    """
    rest = iter(results)
    for segment, _ in requests:
        factor = _arranged(segment)
        count = 1 if factor is None else len(factor.derivatives(point))
        yield factor, [next(rest) for _ in range(count)]


def _arranged(segment: Segment) -> ArrangedTerms | None:
    factor = segment.factors[0] if segment.factors else None
    return factor if isinstance(factor, ArrangedTerms) else None


def derivatives_of(segment: Segment, point: Point) -> tuple[Alpha, ...]:
    """The derivatives with respect to single coordinates that a segment is, or arranges."""
    if (factor := _arranged(segment)) is not None:
        return factor.derivatives(point)
    if (alpha := segment.derivative) is None:
        return ()
    segment.factors[0].count(point)  # checks that the coordinates exist
    return (alpha,)

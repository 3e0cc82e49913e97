"""Pure powers of coordinates, ∂_i^k, and their sums: written so that they share jets.

A power sum over one coordinate is a derivative with respect to it. It is planned together with
others: u_t − Δu in one dimension is one coefficient, beside that of u_x.

Pure powers that are only added up, with equal numbers, are a power sum. The jets of ∂_0² + ∂_1²,
written by coordinates, have one coefficient of the highest order together, and not one each.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, final

from ..jets.index_terms import Monomial, PowerSum
from ..jets.point import Point
from .coefficients import number_of
from .term import Request, Segment, Term


@final
class Power(NamedTuple):
    """∂_i^k, k > 1, for the coordinate with number `place` of an argument."""

    argnum: int
    place: int
    order: int


def lone_powers(requests: Sequence[Request], point: Point) -> Sequence[Request]:
    """The terms, with every exact power sum over one coordinate as a derivative, unless a plan was
    asked for.
    """
    if point.plan != "auto":
        return requests

    def written(term: Term) -> Term:
        return Term(term.coefficient, tuple(_by_coordinate(each, point) for each in term.word))

    return [(n, written(term) if draw is None else term, draw) for n, term, draw in requests]


def _by_coordinate(segment: Segment, point: Point) -> Segment:
    if len(segment.factors) != 1:
        return segment
    (factor,), (power,) = segment.factors, segment.powers
    if not isinstance(factor, PowerSum) or factor.count(point) != 1:
        return segment
    place = factor.argnum, int(factor.positions(point)[0])
    derivative = Monomial(((place, factor.power * power),))
    return Segment(segment.functions, (derivative,), (1,), segment.entries)


def power_sums(requests: Sequence[Request], point: Point) -> Sequence[Request]:
    """The terms whose heads act on one function, with exact pure powers of one operator as a power
    sum, in place of the first, if no other term needs higher derivatives with respect to their
    coordinates, and no plan was asked for.
    """
    if point.plan != "auto":
        return requests
    result: dict[int, Request] = dict(enumerate(requests))
    for members in _alike(requests, point):
        powers = [power for _, power in members]
        numbers = [number for number, _ in members]
        others = [term for n, (_, term, _) in enumerate(requests) if n not in numbers]
        if len(members) > 1 and len(set(powers)) == len(powers) and _apart(powers, others, point):
            name, term, _ = requests[numbers[0]]
            for number in numbers:
                del result[number]
            result[numbers[0]] = name, _added_up(term, powers, point), None
    return [result[number] for number in sorted(result)]


def _alike(requests: Sequence[Request], point: Point) -> list[list[tuple[int, Power]]]:
    """The numbers of terms that are only added up, with the same number, and their powers."""
    sums: dict[Hashable, list[tuple[int, Power]]] = {}
    for n, (name, term, draw) in enumerate(requests):
        number, power = number_of(term.coefficient), _power_of(term, point)
        if draw is None and power is not None and isinstance(number, int | float):
            key = name, term.head.entries, number, power.argnum, power.order
            sums.setdefault(key, []).append((n, power))
    return list(sums.values())


def _power_of(term: Term, point: Point) -> Power | None:
    """The pure power of a coordinate that the head of a term is, if it is one; checks that it fits
    the point.
    """
    if term.head.derivative is None or term.head.functions:
        return None
    (((argnum, place), order), *others), *_ = term.head.derivatives(point)
    return None if others or order < 2 else Power(argnum, place, order)


def _apart(powers: Sequence[Power], others: Sequence[Term], point: Point) -> bool:
    """Whether no other term has a derivative of higher order with respect to these coordinates."""
    variables = {(argnum, place) for argnum, place, _ in powers}
    alphas = [alpha for term in others for alpha in term.head.derivatives(point)]
    higher = [alpha for alpha in alphas if sum(order for _, order in alpha) > 1]
    return variables.isdisjoint(variable for alpha in higher for variable, _ in alpha)


def _added_up(term: Term, powers: Sequence[Power], point: Point) -> Term:
    """The sum of powers in the place of the head of a term."""
    (argnum, _, order), *_ = powers
    dims = tuple(sorted(place for _, place, _ in powers))
    every = len(dims) == point.size(argnum, term.head.text)
    total = PowerSum(argnum, None if every else dims, order)
    return Term(term.coefficient, (Segment((), (total,), (1,), term.head.entries), *term.word[1:]))

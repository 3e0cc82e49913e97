"""Sums of derivatives as polynomials, so that the engine carries only what the sums need.

The Korteweg-de Vries equation needs only the sum u_ty + u_xxxy of both derivatives. With a
parameter for each direction it is read by the polynomial ty + x³y. What has to be carried for
several such polynomials is an algebra (`algebra/apolar.py`). Its relations express that derivatives
which are only added up share one coefficient, and that t needs none of its own beside x³.
"""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np

from ..algebra.algebra import Exponents
from ..algebra.apolar import Polynomial
from .weighted_jets import WeightedJets


@final
class Reader(NamedTuple):
    """The number of a member by which a sum is read, and the sum as a polynomial, divided by that
    member's number. All other members that it contains are parts of that reading.
    """

    member: int
    polynomial: Polynomial


def readers(
    members: Sequence[WeightedJets], outputs: Sequence[Exponents], most: float
) -> list[Reader]:
    """The readers of all members. Members of one addend are read together if their weights are
    known multiples of those of the largest, which is the reader: so the multiples are at most one.
    Where one, or its inverse, is beyond `most`, a member is read apart.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, member in enumerate(members):
        alone = member.addend is None or member.contracted or not member.is_multilinear
        alike.setdefault(number if alone else ("addend", member.addend[0]), []).append(number)  # pyright: ignore
    return [each for numbers in alike.values() for each in _sums(members, outputs, numbers, most)]


def _sums(
    members: Sequence[WeightedJets],
    outputs: Sequence[Exponents],
    numbers: Sequence[int],
    most: float,
) -> list[Reader]:
    first, *others = sorted(numbers, key=lambda number: -_size(members[number]))
    polynomial, apart = {outputs[first]: Fraction(1)}, list[Reader]()
    for number in others:
        ratio, output = _ratio(members[number], members[first]), outputs[number]
        if ratio and 1 / most <= abs(ratio) <= most and output not in polynomial:
            polynomial[output] = Fraction(ratio)
        else:
            apart.append(Reader(number, {output: Fraction(1)}))
    return [Reader(first, polynomial), *apart]


def _size(member: WeightedJets) -> float:
    """The size of a member's first number in the sum; any value if it is not known."""
    if member.addend is None or not isinstance(member.weights, np.ndarray):
        return 0.0
    return abs(float(member.addend[1]) * float(np.max(np.abs(member.weights), initial=0)))


def _ratio(member: WeightedJets, other: WeightedJets) -> float | None:
    """The factor between two members in their sum; None if it is not a known number that is the
    same for all jets.
    """
    assert member.addend is not None and other.addend is not None
    factor, number = _proportion(member.weights, other.weights), float(other.addend[1])
    return None if factor is None or not number else float(member.addend[1]) / number * factor


def _proportion(weights: Any, others: Any) -> float | None:
    known = isinstance(weights, np.ndarray) and isinstance(others, np.ndarray)
    if not known or weights.shape != others.shape or weights.ndim != 1 or not others[0]:
        return None
    factor = weights[0] / others[0]
    return float(factor) if factor and np.array_equal(weights, factor * others) else None

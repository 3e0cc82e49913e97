"""How few coefficients carry operators: the dimension of their algebra (`algebra/apolar.py`)."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction

from ..algebra import apolar
from ..jets.by_coordinates import DerivativeSum, as_derivative_sum, by_exponents
from ..jets.point import Point
from .coefficients import number_of
from .term import Part, Term

MOST = 256
"""Derivatives up to which it is counted: Δ² in 22 dimensions, which takes a second."""


def fewest(parts: Sequence[Part], point: Point) -> int | None:
    """How many coefficients beside the primal any pass has to carry. None if the operators are not
    exact sums of known derivatives, or of too many.

    A sum has this number for almost all numbers in it. Numbers that depend on the point, or are not
    known while tracing, are taken to be such numbers.
    """
    sums: list[DerivativeSum] = []
    for part in parts:
        found = None if part.draw is not None else _sums(part, point)
        if found is None:
            return None
        sums += found
    moving = [
        {alpha: number for alpha, number in each.items() if alpha and number} for each in sums
    ]
    if sum(map(len, moving)) > MOST:
        return None
    polynomials = by_exponents(each for each in moving if each)
    return apolar.least(polynomials) if polynomials else 0


def _sums(part: Part, point: Point) -> list[DerivativeSum] | None:
    """What is read: a sum of derivatives for each choice of u's entries."""
    sums: dict[tuple[object, ...], DerivativeSum] = {}
    drawn = random.Random(0)
    for term in part.terms:
        if any(segment.functions for segment in term.word[1:]):
            return None
        factors = [each for segment in term.word for each in segment.product]
        derivatives = as_derivative_sum(factors, point)
        if derivatives is None:
            return None
        number = None if term.word and term.head.functions else _known(term)
        number = drawn.randrange(1, 1 << 30) if number is None else number
        total = sums.setdefault(tuple(segment.entries for segment in term.word), {})
        for alpha, factor in derivatives.items():
            total[alpha] = total.get(alpha, Fraction(0)) + number * factor
    return list(sums.values())


def _known(term: Term) -> Fraction | None:
    """The number of a term, if it is known, real and finite."""
    number = number_of(term.coefficient)
    real = isinstance(number, int | float)
    return Fraction(number) if real and math.isfinite(number) else None

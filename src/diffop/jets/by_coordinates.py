"""Sums of derivatives of higher order with respect to few coordinates, as polynomials: only the
polynomial's algebra has to be carried (`algebra/apolar.py`).

Δ² in d dimensions is d (d+1)/2 derivatives of order four. One by one, or as Δ of Δ, they take more
than twice as many coefficients as the d + d (d+1)/2 + d + 1 of the algebra. Each of these is a
separate array, so programs grow with their number: beyond a limit terms are pushed as rows.
"""

import itertools
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np
from jax.core import Tracer

from ..algebra.apolar import Polynomial, apolar, least
from .arranged_terms import Derivative, mixed
from .directions import Directions
from .point import Point
from .terms import Factors, Terms
from .weighted_jets import WeightedJets

DerivativeSum: TypeAlias = dict[Derivative, Fraction]
"""A sum of derivatives with respect to single coordinates: their numbers."""

MOST = 64
"""The largest number of arrays that a program may carry in place of rows."""
TERMS = 1024
"""Polynomials with more derivatives are not considered."""


def polynomial_of(factors: Factors, point: Point) -> DerivativeSum | None:
    """The derivatives whose sum a product of factors is, or None if the algebra would take too many
    arrays.
    """
    found = as_derivative_sum(factors, point)
    if not found:
        return None
    (polynomial,) = by_exponents([found])
    short = least([polynomial], MOST) <= MOST and len(apolar([polynomial])) <= MOST
    return found if short else None


def as_derivative_sum(factors: Factors, point: Point) -> DerivativeSum | None:
    """The derivatives whose sum a product of factors is. None if its terms are not known numbers
    times derivatives with respect to coordinates, or if they are many.
    """
    sets: list[tuple[WeightedJets, int]] = []
    for terms, power in factors:
        if not isinstance(terms, Terms) or not terms.constant or terms.count(point) > 4 * MOST:
            return None
        sets.append((terms.take(point, None), power))
    if not all(_is_known(jets) for jets, _ in sets):
        return None
    variables = {each for jets, _ in sets for slot in jets.slots for each in _places(slot)}
    if 2 * len(variables) > MOST:  # degree one, and as many of degree order − 1
        return None
    total: DerivativeSum = {(): Fraction(1)}
    for factor in (each for jets, power in sets for each in [_sum(jets)] * power):
        total = _product(total, factor)
        if len(total) > TERMS:
            return None
    return total


def by_exponents(sums: Iterable[DerivativeSum]) -> list[Polynomial]:
    """Sums of derivatives as polynomials in all of their variables."""
    sums = list(sums)
    variables = sorted({variable for each in sums for alpha in each for variable, _ in alpha})
    return [
        {
            tuple(dict(alpha).get(variable, 0) for variable in variables): number
            for alpha, number in each.items()
        }
        for each in sums
    ]


def _is_known(jets: WeightedJets) -> bool:
    """Whether the terms are finite numbers times derivatives with respect to known coordinates."""
    rows = [each for slot in jets.slots for each in slot.values()]
    known = all(each.known for each in rows) and not isinstance(jets.weights, Tracer)
    if jets.contracted or not known:
        return False
    arrays = (jets.weights, *(each.values for each in rows))
    return all(np.isfinite(np.asarray(array)).all() for array in arrays)


def _places(slot: Directions) -> set[tuple[int, int]]:
    return {(argnum, i) for argnum, rows in slot.items() for i in rows.positions.ravel().tolist()}  # pyright: ignore


def _sum(jets: WeightedJets) -> DerivativeSum:
    """Σ_r w_r Π_j (v_rj·∇)^{p_j}."""
    terms: list[DerivativeSum] = []
    for row, weight in enumerate(np.asarray(jets.weights).tolist()):
        powers = zip(jets.slots, jets.output, strict=True)
        forms = [_linear_form(slot, row) for slot, power in powers for _ in range(power)]
        terms.append(reduce(_product, forms, {(): Fraction(weight)}))
    return _collected(item for term in terms for item in term.items())


def _linear_form(slot: Directions, row: int) -> DerivativeSum:
    """v·∇."""
    return _collected(
        ((((argnum, i), 1),), Fraction(value))
        for argnum, rows in slot.items()
        for i, value in zip(rows.positions[row].tolist(), rows.values[row].tolist(), strict=True)  # pyright: ignore
    )


def _product(left: DerivativeSum, right: DerivativeSum) -> DerivativeSum:
    pairs = itertools.product(left.items(), right.items())
    return _collected((mixed(a, b), m * n) for (a, m), (b, n) in pairs)


def _collected(terms: Iterable[tuple[Derivative, Fraction]]) -> DerivativeSum:
    """A sum of terms without those that cancel."""
    total: DerivativeSum = {}
    for alpha, number in terms:
        total[alpha] = total.get(alpha, Fraction(0)) + number
    return {alpha: number for alpha, number in total.items() if number}

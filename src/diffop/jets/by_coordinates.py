"""Sums of derivatives of higher order with respect to few coordinates, as polynomials: only the
polynomial's algebra has to be carried (`algebra/apolar.py`).

Δ² in d dimensions is d (d+1)/2 derivatives of order four. One by one, or as Δ of Δ, they take more
than twice as many coefficients as the d + d (d+1)/2 + d + 1 of the algebra. Each of these is a
separate array, so programs grow with their number: beyond a limit terms are pushed as rows.
"""

import itertools
import operator
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

import numpy as np
from jax.core import Tracer

from ..algebra.algebra import Exponents, units
from ..algebra.apolar import apolar, least
from ..schemes.expansion import Alpha, alpha_of
from .directions import Directions, SparseRows
from .point import Point
from .terms import Factors, Terms
from .weighted_jets import WeightedJets

Derivatives: TypeAlias = dict[Alpha, Fraction]
"""Numbers by derivatives with respect to variables (argnum, coordinate)."""
Variables: TypeAlias = Mapping[tuple[int, int], int]
"""The places of variables."""
Polynomial: TypeAlias = dict[Exponents, Fraction]
"""Numbers by exponents of variables, as `apolar` takes them."""

MOST = 64
"""The largest number of arrays that a program may carry in place of rows."""
TERMS = 1024
"""Polynomials with more derivatives are not considered."""


def polynomial_of(factors: Factors, point: Point) -> Derivatives | None:
    """The derivatives whose sum a product of factors is, or None if the algebra would take too many
    arrays.
    """
    found = written_out(factors, point)
    if not found:
        return None
    (polynomial,) = by_exponents([found])
    short = least([polynomial], MOST) <= MOST and len(apolar([polynomial])) <= MOST
    return found if short else None


def written_out(factors: Factors, point: Point) -> Derivatives | None:
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
    variables = sorted({each for jets, _ in sets for slot in jets.slots for each in _places(slot)})
    if 2 * len(variables) > MOST:  # degree one, and as many of degree order − 1
        return None
    places = {variable: place for place, variable in enumerate(variables)}
    total: Polynomial = {(0,) * len(variables): Fraction(1)}
    for factor in (each for jets, power in sets for each in [_sum(jets, places)] * power):
        total = _product(total, factor)
        if len(total) > TERMS:
            return None
    return {
        alpha_of(dict(zip(variables, exponents, strict=True))): number
        for exponents, number in total.items()
    }


def by_exponents(sums: Iterable[Derivatives]) -> list[Polynomial]:
    """Sums of derivatives as polynomials in all of their variables."""
    sums = list(sums)
    variables = sorted({variable for each in sums for alpha in each for variable, _ in alpha})  # pyright: ignore
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
    if jets.contracted or not all(isinstance(each, SparseRows) for each in rows):
        return False
    arrays = [array for each in rows for array in (each.positions, each.values)]  # pyright: ignore
    if isinstance(jets.weights, Tracer) or not all(isinstance(a, np.ndarray) for a in arrays):
        return False
    return all(np.isfinite(np.asarray(array)).all() for array in (jets.weights, *arrays))


def _places(slot: Directions) -> set[tuple[int, int]]:
    return {(argnum, i) for argnum, rows in slot.items() for i in rows.positions.ravel().tolist()}  # pyright: ignore


def _sum(jets: WeightedJets, places: Variables) -> Polynomial:
    """Σ_r w_r Π_j (v_rj·∇)^{p_j}."""
    terms: list[Polynomial] = []
    for row, weight in enumerate(np.asarray(jets.weights).tolist()):
        powers = zip(jets.slots, jets.output, strict=True)
        forms = [_linear_form(slot, row, places) for slot, power in powers for _ in range(power)]
        terms.append(reduce(_product, forms, {(0,) * len(places): Fraction(weight)}))
    return _collected(item for term in terms for item in term.items())


def _linear_form(slot: Directions, row: int, places: Variables) -> Polynomial:
    """v·∇."""
    entries = [
        (places[argnum, i], Fraction(value))
        for argnum, rows in slot.items()
        for i, value in zip(rows.positions[row].tolist(), rows.values[row].tolist(), strict=True)  # pyright: ignore
    ]
    return _collected((units(len(places))[place], value) for place, value in entries)


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    pairs = itertools.product(left.items(), right.items())
    return _collected((tuple(map(operator.add, e, f)), a * b) for (e, a), (f, b) in pairs)


def _collected(terms: Iterable[tuple[Exponents, Fraction]]) -> Polynomial:
    """A sum of terms without those that cancel."""
    total: Polynomial = {}
    for exponents, number in terms:
        total[exponents] = total.get(exponents, Fraction(0)) + number
    return {exponents: number for exponents, number in total.items() if number}

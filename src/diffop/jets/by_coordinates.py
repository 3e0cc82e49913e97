"""A sum of derivatives of higher order by few coordinates as a polynomial in these: all that is
carried of it is the polynomial's algebra (`algebra/apolar.py`).

Δ² in d dimensions is d (d+1)/2 derivatives of order four. One by one, or as Δ of Δ, they are more
than twice as many coefficients as the d + d (d+1)/2 + d + 1 of the algebra. Each of these is an
array by itself, so that programs grow with their number: beyond a limit terms are pushed as rows.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from jax.core import Tracer

from ..algebra.apolar import apolar, least
from .directions import Directions, SparseRows
from .expansion import Alpha, alpha_of, word_of
from .point import Point
from .probes.base import Factors
from .terms import Terms
from .weighted_jets import WeightedJets

Polynomial: TypeAlias = dict[Alpha, Fraction]
"""Numbers by derivatives, of variables (argnum, coordinate)."""

MOST = 64
"""How many arrays a program may carry in the place of rows."""


def polynomial_of(factors: Factors, point: Point) -> Polynomial | None:
    """The derivatives that a product of factors is the sum of; None where its terms are not known
    numbers of derivatives by coordinates, or where what is carried of them is too many arrays.
    """
    parts: list[Polynomial] = []
    for terms, power in factors:
        known = isinstance(terms, Terms) and terms.constant and terms.count(point) <= 4 * MOST
        polynomial = _polynomial(terms.take(point, None)) if known else None
        if polynomial is None:
            return None
        parts += [polynomial] * power
    variables = {variable for part in parts for alpha in part for variable, _ in alpha}
    if 2 * len(variables) > MOST:  # of degree one, and as many of one less than the order
        return None
    total = reduce(_product, parts)
    if not total:
        return None
    polynomial = [_in_parameters(total, sorted(variables))]
    few = least(polynomial, MOST) <= MOST and len(apolar(polynomial)) <= MOST
    return total if few else None


def _polynomial(jets: WeightedJets) -> Polynomial | None:
    """A sum of terms Π_j (v_j·∇)^{p_j} with weights and directions that are known."""
    slots = [_linear_forms(slot) for slot in jets.slots]
    if jets.contracted or isinstance(jets.weights, Tracer) or None in slots:
        return None
    total: Polynomial = {}
    for weight, *forms in zip(np.asarray(jets.weights), *slots, strict=True):  # pyright: ignore
        number: Polynomial = {(): Fraction(float(weight))}
        powers = [
            form for form, power in zip(forms, jets.output, strict=True) for _ in range(power)
        ]
        _add(total, reduce(_product, powers, number))
    return {alpha: number for alpha, number in total.items() if number}


def _linear_forms(slot: Directions) -> list[Polynomial] | None:
    """Each direction as a derivative of order one, where all of them are known."""
    forms: list[Polynomial] = []
    for argnum, rows in slot.items():
        if not isinstance(rows, SparseRows) or not _are_known(rows):
            return None
        forms = forms or [{} for _ in rows.positions]
        for form, positions, values in zip(forms, rows.positions, rows.values, strict=True):
            for position, value in zip(positions.tolist(), values.tolist(), strict=True):
                _add(form, {(((argnum, position), 1),): Fraction(value)})
    return forms


def _are_known(rows: SparseRows) -> bool:
    return isinstance(rows.positions, np.ndarray) and isinstance(rows.values, np.ndarray)


def _add(total: Polynomial, other: Polynomial) -> None:
    for alpha, number in other.items():
        total[alpha] = total.get(alpha, Fraction(0)) + number


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for first, a in left.items():
        for second, b in right.items():
            _add(total, {alpha_of(word_of(first) + word_of(second)): a * b})
    return total


def _in_parameters(polynomial: Polynomial, variables: Sequence[Any]) -> dict[Any, Fraction]:
    """The same with the exponent of each variable in the place of names."""
    places = {variable: place for place, variable in enumerate(variables)}
    found = {}
    for alpha, number in polynomial.items():
        exponents = [0] * len(variables)
        for variable, order in alpha:
            exponents[places[variable]] = order
        found[tuple(exponents)] = number
    return found

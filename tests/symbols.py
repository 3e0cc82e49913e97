"""Random operators with constant coefficients, each beside its symbol: an exact polynomial in ∂.

The variables of a symbol are ∂_0, ∂_1, ∂_2 and the power sums Σ_i ∂_i, Σ_i ∂_i², …, Σ_i ∂_i⁴ over
all d coordinates. Nothing relates these while d is open, so two operators are equal exactly when
their symbols are; at d = 3 `at_three` writes the power sums out.
"""

import functools
from fractions import Fraction

from hypothesis import strategies as st

import diffop as do

from . import polynomials
from .polynomials import Polynomial

VARIABLES = 7
ONE: Polynomial = {(0,) * VARIABLES: Fraction(1)}


def monomial(*alpha: int) -> Polynomial:
    """∂_0^alpha[0] ∂_1^alpha[1] …"""
    return {(*alpha, *[0] * (VARIABLES - len(alpha))): Fraction(1)}


def power_sum(k: int) -> Polynomial:
    return {tuple(int(i == 2 + k) for i in range(VARIABLES)): Fraction(1)}


def squares(dims) -> Polynomial:
    terms = [monomial(*(2 * (i == j) for j in range(3))) for i in dims]
    return functools.reduce(polynomials.add, terms)


def at_three(symbol: Polynomial) -> Polynomial:
    """The symbol in ∂_0, ∂_1, ∂_2 alone."""
    units = [tuple(int(i == j) for j in range(3)) for i in range(3)]
    values = [{unit: Fraction(1)} for unit in units] + [
        {tuple(k * u for u in unit): Fraction(1) for unit in units} for k in range(1, 5)
    ]
    result: Polynomial = {}
    for exponents, c in symbol.items():
        term = {(0, 0, 0): c}
        for value, power in zip(values, exponents, strict=True):
            for _ in range(power):
                term = polynomials.multiply(term, value)
        result = polynomials.add(result, term)
    return result


def power(symbol: Polynomial, m: int) -> Polynomial:
    return functools.reduce(polynomials.multiply, [symbol] * m, ONE)


# Numbers whose sums and products are exact in floating point
numbers = st.integers(-8, 8).filter(bool).map(lambda n: n / 4)
atoms = st.one_of(
    st.just((do.Identity(), ONE)),
    st.tuples(st.integers(0, 2), st.integers(1, 2)).map(
        lambda p: (do.Partial(p[0], order=p[1]), monomial(*(p[1] * (j == p[0]) for j in range(3))))
    ),
    st.sampled_from([(1, 1, 0), (0, 1, 1), (1, 0, 1), (0, 0, 2)]).map(
        lambda alpha: (do.Mixed(alpha), monomial(*alpha))
    ),
    st.just((do.Laplacian(), power_sum(2))),
    st.just((do.DiagonalK(1), power_sum(1))),
    st.sampled_from([(0, 1), (2,), (0, 2)]).map(lambda d: (do.Laplacian(dims=d), squares(d))),
)


def _scaled(pair_and_number):
    (operator, symbol), c = pair_and_number
    return c * operator, polynomials.scale(c, symbol)


def _sum(pairs):
    return (
        functools.reduce(lambda a, b: a + b, [operator for operator, _ in pairs]),
        functools.reduce(polynomials.add, [symbol for _, symbol in pairs]),
    )


terms = st.one_of(atoms, st.tuples(atoms, numbers).map(_scaled))
operators = st.lists(terms, min_size=1, max_size=3).map(_sum)  # pairs (operator, symbol), order ≤ 2

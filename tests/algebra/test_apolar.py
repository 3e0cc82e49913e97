"""How few coefficients carry operators: beside the rank of a matrix, and beside closed forms."""

import itertools
import math

import numpy as np
import pytest

from diffop.algebra.apolar import LARGEST, amplification, apolar, least
from diffop.algebra.grading import gradings

from . import POLYNOMIALS, laplacian, pairs, powers, times


def rank(polynomials):
    """dim R[t]/∩Ann(p_k), without the constant: the rank of the numbers ∂^{α+β} p_k at 0, with a
    row for each α and a column for each k and β.
    """
    (parameters,) = {len(m) for p in polynomials for m in p}
    degree = max(sum(m) for p in polynomials for m in p)
    monomials = [
        m for m in itertools.product(range(degree + 1), repeat=parameters) if sum(m) <= degree
    ]
    rows = [
        [
            p.get(tuple(np.add(a, b)), 0) * math.prod(map(math.factorial, np.add(a, b).tolist()))
            for p in polynomials
            for b in monomials
        ]
        for a in monomials
    ]
    matrix = np.array(rows, float)
    scale = np.sqrt(np.array([math.prod(map(math.factorial, m)) for m in monomials], float))
    matrix = matrix / scale[:, None] / np.tile(scale, len(polynomials))
    return int(np.linalg.matrix_rank(matrix, tol=1e-9 * np.abs(matrix).max())) - 1


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_as_many_as_the_rank(name):
    assert least(POLYNOMIALS[name]) == rank(POLYNOMIALS[name])


def test_random_polynomials():
    rng = np.random.default_rng(0)
    for _ in range(40):
        parameters, degree = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        monomials = [
            m for m in itertools.product(range(degree + 1), repeat=parameters) if sum(m) == degree
        ]
        polynomials = []
        for _ in range(rng.integers(1, 3)):
            chosen = rng.choice(len(monomials), min(len(monomials), 4), replace=False)
            polynomials.append({monomials[i]: int(rng.integers(1, 4)) for i in chosen})
        expected = rank(polynomials)
        assert least(polynomials) == expected
        found = apolar(polynomials)
        assert len(found) == expected or not found.relations  # or digits would be lost
        assert len(found) <= len(found.free)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_closed_forms(d):
    assert least([laplacian(d, 1)]) == d + 1
    assert least([laplacian(d, 2)]) == d + math.comb(d + 1, 2) + d + 1
    assert least([powers(d, 5)]) == 4 * d + 1
    if d > 1:
        assert least([pairs(d)]) == 2 * d + 1


def test_it_is_not_counted_to_the_end():
    many = times(laplacian(30, 1), powers(30, 4))
    assert least([many], 64) > 64


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_readings(name):
    """p(∂_t) of a product of linear forms exp, by the algebra: u(x) = exp(k·x) at 0 has p(k)."""
    polynomials = POLYNOMIALS[name]
    algebra = apolar(polynomials)
    k = np.random.default_rng(0).normal(size=len(algebra.monomials[0]))
    series = np.zeros(len(algebra))
    for monomial, terms in algebra.sums.items():  # exp(k·t), written by the basis
        value = math.prod(k**monomial) / math.prod(map(math.factorial, monomial))
        for place, number in terms:
            series[place] += number * value
    for p in polynomials:
        got = sum(
            number * algebra.factorial(algebra.places[m]) * series[algebra.places[m]]
            for m, number in p.items()
            if m in algebra.places
        )
        expected = sum(number * math.prod(k**m) for m, number in p.items())
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_no_relations_where_they_would_cost_digits():
    """Squares of which every first two, in either order, are nearly the same to both polynomials,
    so that others are a thousand times their difference.
    """
    squares = list(powers(4, 2))
    numbers = [1, 1.001, 3.001, 3]
    near = [dict.fromkeys(squares, 1), dict(zip(squares, numbers, strict=True))]
    assert least(near) == 4 + 2 == rank(near)
    assert len(apolar(near)) == 4 + 4 and not apolar(near).relations
    apart = [near[0], dict(zip(squares, [1, 2, 4, 3], strict=True))]
    assert len(apolar(apart)) == 4 + 2
    assert 1 <= amplification(apolar(apart), apart) <= LARGEST
    square = [laplacian(3, 2)]
    assert amplification(apolar(square), square) == pytest.approx(1)


def test_no_relations_out_of_range():
    tiny = {(2, 0): 1, (0, 2): 1e-30}
    assert len(apolar([tiny])) == 3
    assert len(apolar([tiny], most=1e19)) == 4


def test_gradings():
    """u_ty + u_xxxy is of one degree where t counts three times; two orders are of none."""
    assert gradings([[(1, 1, 0), (0, 1, 3)]], 3)[0] == (3, 1, 1)
    assert gradings([[(2, 0), (0, 1)]], 2)[0] == (1, 2)
    assert gradings([[(2,), (1,)]], 1) == [(1,)]
    assert gradings([[(2, 0), (0, 2)]], 2) == [(1, 1)]

"""Algebras beside polynomial arithmetic: products of series are products of polynomials, in which
each monomial is written by the basis.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import diffop as do
from diffop.algebra.apolar import apolar

from . import POLYNOMIALS

Algebra = do.taylor.Algebra
ALGEBRAS = {name: apolar(each) for name, each in POLYNOMIALS.items()} | {
    "a curve": Algebra.curve(5),
    "a jet of a jet": Algebra.closure([(2, 1)]),
    "two tops": Algebra.closure([(3, 1), (0, 4)]),
    "sets of directions": Algebra.squares(3),
}


def random_series(algebra, rng):
    return rng.integers(-5, 6, len(algebra)).astype(float)


def as_polynomial(algebra, series):
    return {m: c for m, c in zip(algebra.monomials, series, strict=True)}


def by_arithmetic(algebra, left, right):
    """The product of two nonconstant series, monomial by monomial."""
    rows, result = dict(algebra.sums), np.zeros(len(algebra))
    for (a, x), (b, y) in itertools.product(left.items(), right.items()):
        whole = tuple(np.add(a, b).tolist())
        for place, number in rows.get(whole, ()):
            result[place] += number * x * y
    return result


def product(algebra, left, right):
    return np.array(
        [
            sum(n * left[i] * right[j] for n, i, j in algebra.products(place))
            for place in range(len(algebra))
        ]
    )


@pytest.mark.parametrize("name", ALGEBRAS)
def test_tops_are_in_no_product_of_others(name):
    algebra = ALGEBRAS[name]
    factors = {i for place in range(len(algebra)) for _, i, _ in algebra.products(place)}
    assert algebra.tops == set(range(len(algebra))) - factors


@pytest.mark.parametrize("name", ALGEBRAS)
def test_products_and_powers(name):
    algebra, rng = ALGEBRAS[name], np.random.default_rng(0)
    x, y, z = (random_series(algebra, rng) for _ in range(3))
    expected = by_arithmetic(algebra, as_polynomial(algebra, x), as_polynomial(algebra, y))
    np.testing.assert_allclose(product(algebra, x, y), expected, rtol=1e-12)
    np.testing.assert_allclose(
        product(algebra, product(algebra, x, y), z),
        product(algebra, x, product(algebra, y, z)),
        rtol=1e-9,
        atol=1e-9,
    )
    power = x
    for j in range(2, algebra.degree + 2):
        expected = product(algebra, x, power)
        got = [
            sum(n * x[i] * power[k] for n, i, k in algebra.powers(place, j))
            for place in range(len(algebra))
        ]
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
        for place, depth in enumerate(algebra.depths):
            assert depth >= j or expected[place] == 0
        power = expected
    assert not np.any(power)  # nothing is as deep as that


@pytest.mark.parametrize("name", ALGEBRAS)
def test_derivations(name):
    """D(xy) = x Dy + y Dx, for the derivation of every place."""
    algebra, rng = ALGEBRAS[name], np.random.default_rng(1)
    x, y = random_series(algebra, rng), random_series(algebra, rng)
    for derivation in {algebra.derivation(place) for place in range(len(algebra))}:
        rates = [algebra.rate(place, derivation) for place in range(len(algebra))]
        expected = product(algebra, rates * x, y) + product(algebra, x, rates * y)
        np.testing.assert_allclose(rates * product(algebra, x, y), expected, rtol=1e-9, atol=1e-9)
    for place in range(len(algebra)):
        assert algebra.rate(place, algebra.derivation(place)) > 0
        shares = algebra.shares(place)
        assert len(shares) == len(algebra.products(place))
        total = sum(s * n * x[i] * x[j] for s, (n, i, j) in zip(shares, algebra.products(place)))
        np.testing.assert_allclose(2 * total, product(algebra, x, x)[place], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ALGEBRAS)
def test_tops_vanish_and_what_is_below_them_is_an_algebra(name):
    algebra, rng = ALGEBRAS[name], np.random.default_rng(2)
    below, kept = algebra.below, [p for p in range(len(algebra)) if p not in algebra.tops]
    assert kept != list(range(len(algebra)))
    assert below.monomials == tuple(algebra.monomials[place] for place in kept)
    top, x, y = np.zeros(len(algebra)), *(random_series(algebra, rng) for _ in range(2))
    top[list(algebra.tops)] = 1
    assert not np.any(product(algebra, top, x))
    got = product(below, x[kept], y[kept])
    np.testing.assert_allclose(got, product(algebra, x, y)[kept], rtol=1e-12)


@pytest.mark.parametrize("name", ALGEBRAS)
def test_it_is_a_quotient_of_the_free_one(name):
    """Products are taken before monomials are written by the basis, or after."""
    algebra, rng = ALGEBRAS[name], np.random.default_rng(3)
    free = algebra.free
    to_basis = np.zeros((len(algebra), len(free)))
    for monomial, terms in algebra.sums.items():
        for place, number in terms:
            to_basis[place, free.places[monomial]] = number
    x, y = random_series(free, rng), random_series(free, rng)
    got = product(algebra, to_basis @ x, to_basis @ y)
    np.testing.assert_allclose(got, to_basis @ product(free, x, y), rtol=1e-9, atol=1e-9)


def test_a_sum_of_two_squares():
    """t_2² = t_1², by hand: the cross term is gone, and both squares are one number."""
    algebra = Algebra(((1, 0), (0, 1), (2, 0)), (((0, 2), ((2, 1),)),))
    assert algebra.products(2) == ((1, 0, 0), (1, 1, 1))
    assert algebra.tops == {2} and algebra.degree == 2
    assert len(apolar([{(2, 0): 1, (0, 2): 1}])) == len(algebra)
    size = 1e12 / 3
    Algebra(CUBE, (((0, 2), ((2, size),)), ((1, 2), ((4, size),))))  # rounding is no contradiction


CUBE = ((1, 0), (0, 1), (2, 0), (1, 1), (3, 0))
SQUARE = ((0, 2), ((2, 1),))  # t_2² = t_1²


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([((2,), (1,))], "without \\[\\(1,\\)\\] before \\(2,\\)"),
        ([((0, 0), (1, 0))], "with the constant one"),
        ([((1, 0), (0, 1)), (((0, 2), ((0, 1),)),)], "be homogeneous by the grading \\(1, 1\\)"),
        ([CUBE, (SQUARE,)], "hold after multiplication with each .* \\(0, 2\\)"),
        ([CUBE, (SQUARE, ((1, 2), ((4, 2),)))], "hold after multiplication with each"),
        ([CUBE, (((1, 2), ((4, 1),)),)], "got that of \\(1, 2\\)"),  # t_2² is 0, t_1 t_2² is not
        ([((1, 0), (0, 1)), (((0, 2), ((0, 1),)),), (2, 1)], "in the order of its degrees"),
    ],
)
def test_what_is_no_algebra(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Algebra(*arguments)


def test_numbers_of_relations_are_fractions_of_integers():
    """u_ty + u_xxxy: t is a sixth of x³, exactly rounded."""
    algebra = apolar([{(1, 1, 0): 1, (0, 1, 3): 1}])
    sums = dict(algebra.relations)
    ((place, number),) = sums[1, 0, 0] if (1, 0, 0) in sums else sums[0, 0, 3]
    assert number in (float(Fraction(1, 6)), 6)
    assert algebra.monomials[place] in ((0, 0, 3), (1, 0, 0))

"""Orders 8 to 13 of polynomials, beside exact rational arithmetic."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import polynomials

pytestmark = pytest.mark.usefixtures("x64")

X = (Fraction(5, 4), Fraction(-3, 2), Fraction(7, 8))
P = {
    (13, 0, 0): Fraction(1, 8),
    (0, 14, 1): Fraction(-1, 4),
    (2, 1, 12): Fraction(3, 2),
    (5, 4, 3): Fraction(2),
    (9, 2, 2): Fraction(-1, 2),
    (4, 6, 4): Fraction(1),
    (3, 0, 11): Fraction(5),
    (1, 1, 0): Fraction(7),
}
UNITS = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
LAPLACIAN = {tuple(2 * i for i in unit): Fraction(1) for unit in UNITS}


def diagonal(k):
    return {tuple(k * i for i in unit): Fraction(1) for unit in UNITS}


def power(symbol, n):
    return symbol if n == 1 else polynomials.multiply(symbol, power(symbol, n - 1))


OPERATORS = {
    **{f"diagonal-{k}": (do.DiagonalK(k), diagonal(k)) for k in range(8, 14)},
    **{
        f"mixed-{sum(alpha)}": (do.Mixed(alpha), {alpha: Fraction(1)})
        for alpha in ((5, 2, 1), (3, 3, 3), (4, 4, 2), (9, 1, 1), (4, 4, 4), (2, 1, 10))
    },
    "laplacian-10": (do.PolyLaplacian(5), power(LAPLACIAN, 5)),
    "composed-9": (
        do.DiagonalK(7) @ (do.Laplacian() - 2.0 * do.Partial(0)),
        polynomials.multiply(diagonal(7), polynomials.add(LAPLACIAN, {(1, 0, 0): Fraction(-2)})),
    ),
}


def horner(x):
    """P with powers shared, as a program that is not a sum of monomials."""
    a, b, c = x
    shared = a * a * c
    return (
        a**13 / 8
        - b**14 * c / 4
        + 1.5 * shared * (b * c**11)
        + (a * b) ** 4 * c**3 * (2 * a + c * b * b)
        - 0.5 * a**7 * shared * b * b * c
        + (5 * shared * c**10 + 7 * b) * a
    )


@pytest.mark.usefixtures("as_users_see_it")  # others here check types at such orders
@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "laplacian-10"])
def test_polynomials(name):
    check(name)


@pytest.mark.slow("is compiled for ten seconds, even quickly")
@pytest.mark.usefixtures("as_users_see_it", "compiled_quickly")
def test_a_power_of_the_laplacian():
    check("laplacian-10")


def check(name):
    operator, symbol = OPERATORS[name]
    expected = polynomials.evaluate(polynomials.apply(symbol, P), X)
    size = sum(
        abs(polynomials.evaluate(polynomials.apply({alpha: c}, {a: p}), X))
        for alpha, c in symbol.items()
        for a, p in P.items()
    )
    x = jnp.array([float(each) for each in X])
    got = jax.jit(
        lambda x: [operator.exact(polynomials.function(P))(x), operator.exact(horner)(x)]
    )(x)
    np.testing.assert_allclose(got, float(expected), rtol=0, atol=1e-12 * float(size))


@pytest.mark.parametrize("k", [8, 13])
def test_float32(k):
    """A jet has no differences: as many digits as the sum has."""
    symbol = diagonal(k)
    expected = polynomials.evaluate(polynomials.apply(symbol, P), X)
    x = jnp.array([float(each) for each in X], jnp.float32)
    got = jax.jit(do.DiagonalK(k).exact(polynomials.function(P)))(x)
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, float(expected), rtol=1e-5)

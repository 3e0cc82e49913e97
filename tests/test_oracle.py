"""The oracle against exact polynomial arithmetic: neither knows of the other, or of the library."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from . import oracle, polynomials

pytestmark = pytest.mark.usefixtures("x64")

P = {(4, 2, 1): Fraction(3), (0, 1, 5): Fraction(-1, 2), (2, 2, 2): Fraction(1), (1, 0, 0): 7}
X = (Fraction(1, 2), Fraction(-3, 4), Fraction(5, 4))
LAPLACIAN = {(2, 0, 0): Fraction(1), (0, 2, 0): Fraction(1), (0, 0, 2): Fraction(1)}
SIGMA = np.array([[1.0, 0.5], [0.0, 2.0], [0.25, -1.0]])
CASES = {
    "identity": (oracle.identity(), {(0, 0, 0): 1}),
    "partial": (oracle.partial(3, 1, 2), {(0, 2, 0): 1}),
    "directional": (
        oracle.directional(np.array([1.0, -2.0, 0.5])),
        {(1, 0, 0): 1, (0, 1, 0): -2, (0, 0, 1): Fraction(1, 2)},
    ),
    "laplacian": (oracle.laplacian(3), LAPLACIAN),
    "laplacian_dims": (oracle.laplacian(3, (0, 2)), {(2, 0, 0): 1, (0, 0, 2): 1}),
    "biharmonic": (oracle.polylaplacian(3, 2), polynomials.multiply(LAPLACIAN, LAPLACIAN)),
    "diagonal": (oracle.diagonal(3, 4), {(4, 0, 0): 1, (0, 4, 0): 1, (0, 0, 4): 1}),
    "mixed": (oracle.mixed(3, {0: 2, 1: 1, 2: 1}), {(2, 1, 1): 1}),
    "terms": (
        oracle.terms(3, [{0: 2, 2: 1}, {1: 1}, {}], [2.0, -1.0, 0.5]),
        {(2, 0, 1): 2, (0, 1, 0): -1, (0, 0, 0): Fraction(1, 2)},
    ),
    "second_order": (
        oracle.second_order(np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 0.0], [0.5, 0.0, 3.0]])),
        {(2, 0, 0): 1, (1, 1, 0): 2, (0, 2, 0): -1, (1, 0, 1): Fraction(1, 2), (0, 0, 2): 3},
    ),
    "parabolic": (
        oracle.parabolic(SIGMA, 3),
        {
            (2, 0, 0): Fraction(5, 8),  # ½ σσᵀ, off the diagonal twice
            (1, 1, 0): 1,
            (1, 0, 1): Fraction(-1, 4),
            (0, 2, 0): 2,
            (0, 1, 1): -2,
            (0, 0, 2): Fraction(17, 32),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_oracle_agrees_with_exact_arithmetic(name):
    operator, symbol = CASES[name]
    x = jnp.array([float(xi) for xi in X])
    got = jax.jit(operator(polynomials.function(P)))(x)
    expected = float(polynomials.evaluate(polynomials.apply(symbol, P), X))
    assert expected != 0
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_gradient_and_divergence():
    u = polynomials.function(P)
    x = jnp.array([float(xi) for xi in X])
    units = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    expected = [float(polynomials.evaluate(polynomials.apply({a: 1}, P), X)) for a in units]
    np.testing.assert_allclose(jax.jit(oracle.gradient(3)(u))(x), expected, rtol=1e-13)
    np.testing.assert_allclose(
        jax.jit(oracle.gradient(3, SIGMA)(u))(x), SIGMA.T @ np.array(expected), rtol=1e-13
    )
    field = lambda x: jnp.stack([u(x), 2.0 * u(x), -u(x)])
    value = expected[0] + 2 * expected[1] - expected[2]
    np.testing.assert_allclose(jax.jit(oracle.divergence(3)(field))(x), value, rtol=1e-13)


def test_composition_differentiates_the_inner_coefficient():
    u = lambda x: x[0] ** 3
    outer, inner = oracle.partial(1, 0), (lambda x: x[0] ** 2) * oracle.partial(1, 0)
    # ∂(x² 3x²) = 12 x³
    np.testing.assert_allclose(outer(inner(u))(jnp.array([2.0])), 96.0, rtol=1e-13)

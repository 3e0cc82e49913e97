"""`do.taylor.jet`: its conventions, pytrees, and known series."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.jet import jet as reference_jet

import diffop as do

from .. import polynomials
from .curves import assert_same_series, nested_jvp, series_by_leaf

pytestmark = pytest.mark.usefixtures("x64")

K = 13


def line(order=K):
    """The curve x(t) = t about 0, so that series are those of the calculus books."""
    return (jnp.zeros(()),), ([jnp.ones(()), *[jnp.zeros(())] * (order - 1)],)


def tangent_numbers():
    """The derivatives of tan at 0: the tangent numbers at odd orders."""
    return [0, 1, 0, 2, 0, 16, 0, 272, 0, 7936, 0, 353792, 0, 22368256]


def sec_numbers():
    return [1, 0, 1, 0, 5, 0, 61, 0, 1385, 0, 50521, 0, 2702765, 0]


def binomial_series(power: Fraction):
    """k! · binomial(power, k): the derivatives of (1 + t)^power at 0."""
    values = [Fraction(1)]
    for k in range(K):
        values.append(values[-1] * (power - k))
    return values


def arcsin_derivatives():
    """arcsin^(2m+1)(0) = ((2m−1)!!)²."""
    odd = [math.prod(range(1, 2 * m, 2)) ** 2 for m in range(7)]
    return [odd[k // 2] if k % 2 else 0 for k in range(K + 1)]


def bell_numbers():
    """The derivatives of exp(exp(t) − 1) at 0."""
    bell = [1]
    for n in range(K):
        bell.append(sum(math.comb(n, k) * bell[k] for k in range(n + 1)))
    return bell


def bernoulli_like():
    """t/(exp(t) − 1) has removable singularity; (exp(t) + 1)/2 inverted has Euler's polynomials."""
    values = [Fraction(1)]
    for n in range(1, K + 1):
        # 2 = (exp(t) + 1) y, so y_n = −½ Σ_{k<n} C(n, k) y_k
        values.append(-sum(math.comb(n, k) * values[k] for k in range(n)) / Fraction(2))
    return values


ALTERNATING = [(-1) ** k for k in range(K + 1)]
KNOWN = {
    "exp": (jnp.exp, [1] * (K + 1)),
    "expm1": (jnp.expm1, [0] + [1] * K),
    "sin": (jnp.sin, [(0, 1, 0, -1)[k % 4] for k in range(K + 1)]),
    "cos": (jnp.cos, [(1, 0, -1, 0)[k % 4] for k in range(K + 1)]),
    "sinh": (jnp.sinh, [k % 2 for k in range(K + 1)]),
    "tan": (jnp.tan, tangent_numbers()),
    "tanh": (jnp.tanh, [t * ALTERNATING[k // 2] for k, t in enumerate(tangent_numbers())]),
    "sec": (lambda t: 1.0 / jnp.cos(t), sec_numbers()),
    "geometric": (lambda t: 1.0 / (1.0 - t), [math.factorial(k) for k in range(K + 1)]),
    "log1p": (
        jnp.log1p,
        [0] + [ALTERNATING[k - 1] * math.factorial(k - 1) for k in range(1, K + 1)],
    ),
    "sqrt": (lambda t: jnp.sqrt(1.0 + t), binomial_series(Fraction(1, 2))),
    "rsqrt": (lambda t: jax.lax.rsqrt(1.0 + t), binomial_series(Fraction(-1, 2))),
    "pow": (lambda t: (1.0 + t) ** 2.5, binomial_series(Fraction(5, 2))),
    "cbrt": (lambda t: jnp.cbrt(1.0 + t), binomial_series(Fraction(1, 3))),
    "integer_pow": (lambda t: (1.0 + t) ** 7, binomial_series(Fraction(7))),
    "arcsin": (jnp.arcsin, arcsin_derivatives()),
    "arctan": (
        jnp.arctan,
        [ALTERNATING[k // 2] * math.factorial(k - 1) * (k % 2) if k else 0 for k in range(K + 1)],
    ),
    "exp_of_exp": (lambda t: jnp.exp(jnp.expm1(t)), bell_numbers()),
    "logistic": (lambda t: 2.0 * jax.nn.sigmoid(-t), bernoulli_like()),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_series_to_order_13(name):
    f, expected = KNOWN[name]
    primals, series = line()
    primal, terms = jax.jit(lambda x, s: do.taylor.jet(f, x, s))(primals, series)
    assert_same_series([primal, *terms], np.array([float(e) for e in expected]), 1e-12)


@pytest.mark.parametrize("order", [1, 2, 5, 13])
def test_polynomials_against_exact_arithmetic(order):
    """p(x(t)) for polynomials p and x(t), composed as exact polynomials in t."""
    p = {(3, 1): Fraction(2), (0, 4): Fraction(-1, 2), (2, 2): Fraction(1), (1, 0): Fraction(3)}
    curves = [[Fraction(j * (-1) ** (k + j) + k, 4) for k in range(order + 1)] for j in (1, 2)]
    in_t = [{(k,): c / math.factorial(k) for k, c in enumerate(curve) if c} for curve in curves]
    composed = {}
    for exponents, c in p.items():
        term = {(0,): c}
        for factor, power in zip(in_t, exponents, strict=True):
            for _ in range(power):
                term = polynomials.multiply(term, factor)
        composed = polynomials.add(composed, term)
    expected = [float(composed.get((k,), 0) * math.factorial(k)) for k in range(order + 1)]

    values = jnp.array([[float(c) for c in curve] for curve in curves])
    series = [values[:, k] for k in range(1, order + 1)]
    primal, terms = do.taylor.jet(polynomials.function(p), (values[:, 0],), (series,))
    assert len(terms) == order
    np.testing.assert_allclose([primal, *terms], expected, rtol=1e-12)


def test_same_conventions_as_jax_experimental_jet():
    f = lambda x, y: jnp.sin(x) * jnp.exp(x) @ jnp.tanh(y)
    x, y = jnp.array([0.5, -1.0]), jnp.array([2.0, 0.25])
    series = ([x + 1, x * 2, -x], [y, y - 3, y * 0.5])
    got, expected = do.taylor.jet(f, (x, y), series), reference_jet(f, (x, y), series)
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    assert_same_series(
        [got[0], *got[1]], [expected[0], *expected[1]], 1e-6
    )  # the reference takes its factorials from exp(lgamma), whose error is larger than ours


def test_pytree_primals_and_outputs():
    f = lambda p, z: {"out": p["m"] @ p["v"] * z, "z": (jnp.exp(z), p["v"] ** 2)}
    p = {"m": jnp.arange(6.0).reshape(2, 3), "v": jnp.array([1.0, -1.0, 2.0])}
    z = jnp.array(0.5)
    p_terms = [jax.tree.map(lambda a: jnp.sin(a + k), p) for k in range(4)]
    z_terms = [jnp.array(float(k)) for k in (1, 0, -2, 3)]
    primals, series = jax.jit(lambda *s: do.taylor.jet(f, (p, z), s))(p_terms, z_terms)

    joined = [{"p": a, "z": b} for a, b in zip(p_terms, z_terms, strict=True)]
    expected = nested_jvp(lambda q: f(q["p"], q["z"]), {"p": p, "z": z}, joined)
    assert jax.tree.structure(primals) == jax.tree.structure(f(p, z))
    for g, e in zip(series_by_leaf(primals, series), expected, strict=True):
        assert_same_series(g, e)


def test_several_primals_of_different_shapes():
    f = lambda a, b: a * jnp.sum(b**3)
    a, b = jnp.array(2.0), jnp.array([[1.0, 2.0], [0.5, -1.0]])
    terms = ([a, a, a], [b, -b, b])
    primal, series = do.taylor.jet(f, (a, b), terms)
    joined = [{"a": s, "b": t} for s, t in zip(*terms, strict=True)]
    expected = nested_jvp(lambda q: f(q["a"], q["b"]), {"a": a, "b": b}, joined)
    assert_same_series([primal, *series], expected[0])


def test_jit_vmap_and_grad_of_a_jet():
    f = lambda w, x: jnp.tanh(w * x)

    def third(w, x):
        return do.taylor.jet(lambda x: f(w, x), (x,), ([jnp.ones(()), jnp.zeros(()), x],))[1][2]

    def reference(w, x):
        """The same by hand: f''' + 3 f''·0 + f' x along the curve."""
        d = lambda g: jax.jacfwd(g)
        g = lambda x: f(w, x)
        return d(d(d(g)))(x) + d(g)(x) * x

    w, x = jnp.array(0.7), jnp.linspace(-1.0, 1.0, 5)
    got = jax.jit(jax.vmap(jax.value_and_grad(third), (None, 0)))(w, x)
    expected = jax.jit(jax.vmap(jax.value_and_grad(reference), (None, 0)))(w, x)
    jax.tree.map(lambda g, e: np.testing.assert_allclose(g, e, rtol=1e-11), got, expected)


def test_a_constant_function_has_zero_series():
    primal, terms = do.taylor.jet(lambda x: jnp.array([1.0, 2.0]), *line(3))
    np.testing.assert_array_equal(primal, [1.0, 2.0])
    assert [t.shape for t in terms] == [(2,)] * 3
    assert not np.any(terms)


def test_complex_points():
    """A jet of an analytic function at a complex point."""
    z, dz = jnp.array(0.5 + 0.25j), jnp.array(1.0 - 2.0j)
    primal, terms = do.taylor.jet(jnp.exp, (z,), ([dz, jnp.zeros_like(dz)],))
    np.testing.assert_allclose(terms[0], np.exp(0.5 + 0.25j) * (1 - 2j), rtol=1e-14)
    np.testing.assert_allclose(terms[1], np.exp(0.5 + 0.25j) * (1 - 2j) ** 2, rtol=1e-14)

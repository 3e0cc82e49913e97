"""Relative digits far out, where a function is next to a constant or a line: six orders, beside
series of decimal numbers.
"""

import functools
import math
from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import pytest

import diffop as do

from .. import digits

FUNCTIONS = {
    "tanh": (jnp.tanh, digits.tanh),
    "logistic": (jax.nn.sigmoid, digits.logistic),
    "softplus": (jax.nn.softplus, digits.softplus),
    "silu": (jax.nn.silu, lambda x: digits.product(x, digits.logistic(x))),
    "log_sigmoid": (
        jax.nn.log_sigmoid,
        lambda x: digits.scaled(digits.softplus(digits.scaled(x, -1)), -1),
    ),
    "mish": (
        jax.nn.mish,
        lambda x: digits.product(x, digits.tanh(digits.softplus(x))),
    ),
    "expm1": (jnp.expm1, lambda x: digits.shifted(digits.exp(x), -1)),
    "elu": (
        jax.nn.elu,
        lambda x: x if x[0] > 0 else digits.shifted(digits.exp(x), -1),
    ),
}
TAILS = {"float64": np.linspace(-100, 100, 50), "float32": np.float32(np.linspace(-40, 40, 50))}


def pushed(f, order=digits.ORDER):
    def orders(x):
        line = [jnp.ones_like(x), *[jnp.zeros_like(x)] * (order - 1)]
        primal, terms = do.taylor.jet(f, (x,), (line,))
        return jnp.stack([primal, *terms])

    return orders


def evaluated(functions, points, dtype, order=digits.ORDER):
    """By name, the derivatives of all orders: one program."""
    with jax.enable_x64(dtype == "float64"):
        every = jax.jit(lambda x: {name: pushed(f, order)(x) for name, (f, _) in functions.items()})
        found = every(jnp.asarray(points, dtype))
        return {name: np.asarray(each, np.float64) for name, each in found.items()}


@pytest.mark.parametrize("dtype", TAILS)
def test_elementwise_functions(dtype):
    """No more than 64 units in the last place, where the type has such numbers, at all orders."""
    limits, points = np.finfo(dtype), TAILS[dtype]
    for name, got in evaluated(FUNCTIONS, points, dtype).items():
        expected = np.asarray(digits.derivatives(FUNCTIONS[name][1], points))[1:]
        inside = (np.abs(expected) > 4 * float(limits.tiny)) & (np.abs(expected) < limits.max)
        assert inside[0].sum() >= 25
        errors = np.abs(got[1:] - expected)
        allowed = 64 * float(limits.eps) * np.abs(expected)
        assert (errors <= allowed)[inside].all(), (name, np.max(errors[inside] / allowed[inside]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_types(dtype):
    """tanh″ at 4.5 is −9.9e-4; of 1 − y² half precision has one digit."""
    x, limits = 4.5, jnp.finfo(dtype)
    got = float(do.Partial(order=2).exact(jnp.tanh)(jnp.asarray(x, dtype)))
    expected = -2 * math.tanh(x) / math.cosh(x) ** 2
    assert abs(got / expected - 1) <= 8 * float(limits.eps)


def test_gradients_and_operators_of_operators():
    """∂_w ∂_x² f(wx) = 2 w f″ + w² x f‴, and ∂_x² ∂_x² f(wx) = w⁴ f⁗, at wx = ±18."""
    functions = {name: FUNCTIONS[name] for name in ("tanh", "logistic", "softplus", "silu")}
    w, second = 1.5, do.Partial(order=2)

    def both(f, x):
        def of(w):
            return second.exact(lambda x: f(w * x))(x)

        return jax.grad(of)(jnp.float32(w)), second.exact(second.exact(lambda x: f(w * x)))(x)

    every = jax.jit(lambda x: {name: both(f, x) for name, (f, _) in functions.items()})
    for x in (-12.0, 12.0):
        found = every(jnp.float32(x))
        for name, (_, by_digits) in functions.items():
            (_, _, d2, d3, d4, *_) = np.asarray(digits.derivatives(by_digits, [w * x]))[:, 0]
            expected = 2 * w * d2 + w**2 * x * d3, w**4 * d4
            np.testing.assert_allclose(found[name], expected, rtol=2e-5, err_msg=name)


def test_a_sum_over_coordinates():
    """Δ Σ_i a tanh(x_i), collapsed, and along sparse and dense directions."""
    x = np.float32([9.0, -12.0, 15.0, -9.5])
    expected = sum(-2 * math.tanh(t) / math.cosh(t) ** 2 * c for t, c in zip(x, (1, -2, 1, -1)))
    c = jnp.array([1.0, -2.0, 1.0, -1.0])
    laplacian = do.Laplacian()
    u = lambda x: c @ jnp.tanh(x)
    np.testing.assert_allclose(laplacian.exact(u)(jnp.asarray(x)), expected, rtol=1e-5)
    dense = lambda x: c @ jnp.tanh(jnp.eye(4) @ x)
    np.testing.assert_allclose(laplacian.exact(dense)(jnp.asarray(x)), expected, rtol=1e-5)


def sinc(x):
    """sin(πx) / (πx) = Σ_k (−1)^k (πx)^{2k} / (2k + 1)!."""
    terms = [Decimal((-1) ** (n // 2) * (1 - n % 2)) / math.factorial(n + 1) for n in range(200)]
    return digits.of_power_series(terms, digits.scaled(x, digits.pi()))


def bessel(order):
    """I_n(x) = Σ_k (x/2)^{n+2k} / (k! (n+k)!)."""
    halves = {
        order + 2 * k: Decimal(0.5) ** (order + 2 * k)
        / (math.factorial(k) * math.factorial(order + k))
        for k in range(150)
    }
    terms = [halves.get(n, Decimal(0)) for n in range(300)]
    return lambda x: digits.of_power_series(terms, x)


def log_of_normal(x):
    """log Φ, with h = Φ′/Φ and h′ = −h (x + h); Φ by its continued fraction far on the left, else
    by Φ′(x) Σ_k x^{2k+1} / (2k + 1)!!.
    """
    at, root = x[0], (2 * digits.pi()).sqrt()
    density, ratio = (-at * at / 2).exp() / root, Decimal(0)
    if at < -4:
        for m in range(2000, 0, -1):
            ratio = m / (ratio - at)
        h = [ratio - at]
    else:
        odd, total = abs(at), Decimal(0)
        for k in range(1, 400):
            total, odd = total + odd, odd * at * at / (2 * k + 1)
        h = [density / (Decimal(0.5) + (density * total).copy_sign(at))]
    for k in range(len(x) - 2):
        square = sum(h[i] * h[k - i] for i in range(k + 1))
        h.append(-(square + at * h[k] + (h[k - 1] if k else 0)) / (k + 1))
    return [(density / h[0]).ln(), *(each / k for k, each in enumerate(h, start=1))]


SPECIAL = {
    "sinc": (jnp.sinc, sinc),
    "i0": (jsp.special.i0, bessel(0)),
    "i1": (jsp.special.i1, bessel(1)),
    "logcdf": (jsp.stats.norm.logcdf, log_of_normal),
}
POINTS = np.float32([0.0, 1e-8, -1e-3, 0.3, -0.9, 2.5, -3.7, 6.0, -8.0, -20.0]).astype(float)


@functools.cache
def by_series(name):
    """The derivatives of order 0 … 5 at the points, which both precisions have."""
    return np.asarray(digits.derivatives(SPECIAL[name][1], POINTS, 100))[:6]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_functions(dtype):
    """Four orders, beside the larger of each and the next one: odd ones of I_0 are differences
    next to 0.
    """
    for name, got in evaluated(SPECIAL, POINTS, dtype, 4).items():
        expected = by_series(name)
        size = np.maximum(np.abs(expected[1:5]), np.abs(expected[2:]))
        errors = np.abs(got[1:] - expected[1:5]) / size
        assert errors.max() <= 2e3 * np.finfo(dtype).eps, (name, errors)


def test_special_functions_at_zero():
    """I_0″(0) = ½ and I_1‴(0) = 3/8, sinc″(0) = −π²/3; by JAX's rules 0 is a kink of I_0."""
    i0, i1 = jsp.special.i0, jsp.special.i1
    asked = [(i0, 1), (i0, 2), (i1, 3), (jnp.sinc, 2)]
    every = jax.jit(lambda x: [do.Partial(order=k).exact(f)(x) for f, k in asked])
    first, second, *others = every(jnp.float32(0))
    assert (first, second) == (0, 0.5)
    np.testing.assert_allclose(others, [3 / 8, -(math.pi**2) / 3], rtol=1e-6)


def of_softmax(x):
    """Δ of softmax's first and last entry and of log Σ eˣ: with p = softmax(x) the Hessian of the
    latter is diag(p) − p pᵀ, and Δ p_i = p_i Σ_j (δ_ij − p_j) (1 − 2 p_j).
    """
    with localcontext(prec=60):
        exponentials = [Decimal(float(t)).exp() for t in x]
        p = [each / sum(exponentials) for each in exponentials]

        def entry(i):
            return p[i] * sum(((i == j) - q) * (1 - 2 * q) for j, q in enumerate(p))

        return [float(each) for each in (entry(0), entry(len(p) - 1), sum(q * (1 - q) for q in p))]


def by_hand(x, axis=-1):
    """Softmax as users write it."""
    e = jnp.exp(x - jax.lax.stop_gradient(jnp.max(x, axis, keepdims=True)))
    return e / jnp.sum(e, axis, keepdims=True)


@pytest.mark.parametrize(("dtype", "gap"), [("float32", 17.0), ("float64", 40.0)])
def test_saturated_softmax(dtype, gap):
    """The largest exponential stands still: of e¹ − e¹ no derivative is made."""
    x = np.array([gap, 0.3, -3.0])
    functions = [
        lambda x: jax.nn.softmax(x)[jnp.array([0, 2])],
        lambda x: jax.nn.logsumexp(x)[None],
        lambda x: -jax.nn.log_softmax(x)[:1],
        lambda x: by_hand(x)[jnp.array([0, 2])],
    ]

    def u(x):
        return jnp.concatenate([f(x) for f in functions])

    def every(x):
        dense = do.Laplacian().exact(lambda x: u(jnp.eye(3, dtype=dtype) @ x))(x)
        single = sum(do.Partial(i, 2).exact(u)(x) for i in range(3))
        again = jax.checkpoint(u)
        return do.Laplacian().exact(u)(x), dense, single, do.Laplacian().exact(again)(x)

    with jax.enable_x64(dtype == "float64"):
        x = np.asarray(x, dtype)
        first, last, both = of_softmax(x)
        for got in jax.jit(every)(jnp.asarray(x)):
            expected = [first, last, both, both, first, last]
            np.testing.assert_allclose(got, expected, rtol=16 * np.finfo(dtype).eps)


def test_gradients_of_saturated_softmax():
    """∂_w of ∂_t² p(w t), p being the first of softmax((w t, 0)): that of the logistic function."""
    second = do.Partial(order=2)

    def of(w, t):
        return second.exact(lambda t: jax.nn.softmax(jnp.stack([w * t, 0 * t]))[0])(t)

    w, t = 1.5, 12.0
    _, _, d2, d3, *_ = np.asarray(digits.derivatives(digits.logistic, [w * t]))[:, 0]
    got = jax.grad(of)(jnp.float32(w), jnp.float32(t))
    np.testing.assert_allclose(got, 2 * w * d2 + w**2 * t * d3, rtol=1e-5)


def test_what_is_stopped_and_counts_stays_stopped():
    """Where the outputs depend on it: x_0 is the largest, and the others move alone."""
    stopped = lambda x: jax.lax.stop_gradient(jnp.max(x))
    rounded = lambda x: x.astype(jnp.int32).astype(x.dtype)
    functions = [
        lambda x: jax.nn.logsumexp(x - stopped(x)) + 2 * stopped(x) - rounded(stopped(x)),
        lambda x: jnp.sum(jnp.exp(x - stopped(x))),
        lambda x: jnp.sum((x - stopped(x)) ** 2),
        lambda x: jax.nn.logsumexp(x - stopped(x)),
        lambda x: jnp.sum(jnp.exp(x - stopped(x)) / (1 + jnp.sum(jnp.exp(x - stopped(x))))),
    ]
    u = lambda x: jnp.stack([f(x) for f in functions])
    x = jnp.array([1.5, 0.25, -1.0])
    expected = jnp.trace(jax.jacfwd(jax.jacfwd(u))(x), axis1=1, axis2=2)
    np.testing.assert_allclose(do.Laplacian().exact(u)(x), expected, rtol=2e-5)


def test_many_exponentials_keep_their_structure():
    """Each of a thousand directions moves one of them, and no array is directions × entries."""
    x = jnp.linspace(-1, 1, 1000)
    operator = jax.jit(do.Laplacian().exact(jax.nn.logsumexp)).lower(x).compile()
    assert operator.memory_analysis().temp_size_in_bytes < 1e5
    p = np.exp(np.float64(x)) / np.sum(np.exp(np.float64(x)))
    np.testing.assert_allclose(operator(x), np.sum(p * (1 - p)), rtol=1e-5)


def test_numbers_of_rows_that_a_sum_over_all_does_not_share():
    """Each row's largest number is stopped, and is no common factor of the sum of all rows."""

    def function(x):
        rows = x.reshape(2, 3)
        e = jnp.exp(rows - jax.lax.stop_gradient(jnp.max(rows, -1, keepdims=True)))
        return jnp.sum(jnp.sin(e / jnp.sum(e)))

    with jax.enable_x64(True):
        x = jnp.asarray(np.random.RandomState(0).randn(6))
        got = do.Hessian().exact(function, plan="nested")(x)  # by jets, not in reverse mode
        np.testing.assert_allclose(got, jax.hessian(function)(x), atol=1e-14)


SLOPES = {name: FUNCTIONS[name] for name in ("tanh", "logistic", "softplus", "silu", "expm1")}


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_and_hessians(name):
    """In reverse mode too, and in more coordinates than jets take: both in every digit, where
    `jax.grad` of tanh is 0.
    """
    f, by_digits = SLOPES[name]
    x = np.float32([0.3, -3.7, 8.0, -8.0, 12.0, -15.0])
    u = lambda x: jnp.sum(f(x))
    twice = lambda x: jnp.stack([u(x), u(2 * x)])
    _, first, second, *_ = np.asarray(digits.derivatives(by_digits, x))

    @jax.jit
    def every(x):
        hessians = [do.Hessian().exact(u, **plan)(x) for plan in ({}, {"plan": "nested"})]
        return do.Gradient().exact(u)(x), do.Gradient().exact(twice)(x / 2)[1], hessians

    gradient, rows, hessians = every(jnp.asarray(x))
    np.testing.assert_allclose(gradient, first, rtol=1e-6)
    np.testing.assert_allclose(rows, 2 * first, rtol=1e-6)
    np.testing.assert_allclose(hessians, [np.diag(second)] * 2, rtol=2e-6)


def test_gradients_of_fields_and_products_with_hessians():
    """A coefficient's own slope, and products with a Hessian whose draws span all directions."""
    x = jnp.float32([9.0, -10.0, 8.5])
    slope = lambda x: 1 / np.cosh(np.float64(x)) ** 2
    a = lambda x: jnp.tanh(x[0])
    got = do.DivergenceForm(a).exact(lambda x: x[0])(x)
    np.testing.assert_allclose(got, slope(9.0), rtol=1e-6)
    trace = do.Laplacian().deflate(jax.random.key(0), 6)(lambda x: jnp.sum(jnp.tanh(x)))(x)
    expected = np.sum(-2 * np.tanh(np.float64(x)) * slope(x))
    np.testing.assert_allclose(trace, expected, rtol=1e-5)

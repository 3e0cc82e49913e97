"""Derivatives of high order far from one: in range wherever the result is, as they are by nested
`jax.jvp` of the same type.
"""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import pytest
from jax import lax

import diffop as do

K = 4
SCALES = (1e-12, 1e-6, 1e-4, 1.0, 1e4, 1e6, 1e12)
SINGULAR = {
    "log": jnp.log,
    "sqrt": jnp.sqrt,
    "rsqrt": lax.rsqrt,
    "cbrt": jnp.cbrt,
    "x^2.5": lambda t: t**2.5,
    "x^-3": lambda t: t**-3,
    "x^y": lambda t: lax.pow(t, 0.9 + 0 * lax.stop_gradient(t)),
    "lgamma": lax.lgamma,
    "xlogx": lambda t: jsp.special.xlogy(t, t),
    "arctan": jnp.arctan,
}


def _slope(f):
    return lambda t: jax.jvp(f, (t,), (jnp.ones_like(t),))[1]


def nested(f, order):
    orders = [f]
    for _ in range(order):
        orders.append(_slope(orders[-1]))
    return lambda t: jnp.stack([each(t) for each in orders])


def pushed(f, order):
    def all_orders(t):
        series = [jnp.ones_like(t), *[jnp.zeros_like(t)] * (order - 1)]
        primal, terms = do.taylor.jet(f, (t,), (series,))
        return jnp.stack([primal, *terms])

    return all_orders


def table(way, functions, scales, points, dtype, order=K):
    """Derivatives `(scale, point, function, order)` of t ↦ f(s t (1 + t))."""

    def at(s, t):
        return jnp.stack([way(lambda t: f(s * t * (1 + t)), order)(t) for f in functions])

    with jax.enable_x64(dtype == "float64"):
        every = jax.jit(jax.vmap(jax.vmap(at, (None, 0)), (0, None)))
        values = every(jnp.asarray(scales, dtype), jnp.asarray(points, dtype))
        return np.asarray(values, np.float64)


def judge(got, jax_own, truth, dtype):
    """No more than 8 times the error of nested `jax.jvp` and 4 units in the last place (of the
    largest derivative up to that order: they have one unit, and those of high order cancel), where
    the truth is in range.
    """
    limits, size = jnp.finfo(dtype), np.abs(truth)
    inside = (size < float(limits.max) / 4) & (size > 4 * float(limits.tiny))
    size = np.maximum.accumulate(size, axis=-1)
    inside &= np.isfinite(jax_own)
    assert inside.mean() > 0.6
    with np.errstate(invalid="ignore"):
        allowed = 8 * np.abs(jax_own - truth) + 4 * float(limits.eps) * size
        wrong = inside & ~(np.abs(got - truth) <= allowed)
    assert not wrong.any(), np.argwhere(wrong)


def test_single_precision_beside_nested_jvp(kept):
    scales = np.asarray(SCALES, np.float32).astype(float)
    points = np.asarray([0.125, 1.25])  # where no derivative of these is a small difference
    rows = [SINGULAR.values(), scales, points]
    truth = kept(lambda: table(nested, *rows, "float64"))
    own = kept(lambda: table(nested, *rows, "float32"))
    judge(table(pushed, *rows, "float32"), own, truth, "float32")


def test_half_precision_beside_nested_jvp(kept):
    functions = [
        *(jnp.tanh, jnp.exp, jnp.sin, jax.nn.relu, jax.nn.softplus, jnp.abs, lambda t: t**3),
        *(jnp.sqrt, lambda t: 1 / t),
    ]
    rows = [functions, [300.0, 30.0], np.asarray([1.0, 0.004], np.float16).astype(float)]
    truth = kept(lambda: table(nested, *rows, "float64", 2))
    own = table(nested, *rows, "float16", 2)  # processors differ in how they round halves
    judge(table(pushed, *rows, "float16", 2), own, truth, "float16")


def _falling(a, k):
    return np.prod(a - np.arange(k))


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_eight_orders(scale):
    """The k-th derivative of (s t)^a at t = 1, in single precision."""
    exponents = {jnp.sqrt: 0.5, lax.rsqrt: -0.5, (lambda t: t**-1.5): -1.5, jnp.log: 0}
    exponents[lambda t: t**3.7] = float(np.float32(3.7))
    way = jax.jit(
        lambda s: jnp.stack([pushed(lambda t: f(s * t), 8)(jnp.ones_like(s)) for f in exponents])
    )
    got = np.asarray(way(jnp.float32(scale)))
    s = float(np.float32(scale))
    for row, a in zip(got, exponents.values(), strict=True):
        factor = s**a if a else 1.0
        first = a or 1.0
        expected = [factor * first * _falling(a - 1, k - 1) for k in range(1, 9)]
        np.testing.assert_allclose(row[1:], expected, rtol=2e-6)


RADIAL = {
    "r": (lambda s: jnp.sqrt(s), 1, -3),
    "1/r": (lambda s: 1 / jnp.sqrt(s), 9, -5),
    "rsqrt": (lax.rsqrt, 9, -5),
    "log^2": (lambda s: (jnp.log(s) / 2) ** 2, 8, -4),
    "r^3": (lambda s: jnp.sqrt(s) ** 3, 9, -1),
    "s^1.5": (lambda s: s**1.5, 9, -1),
}


def test_biharmonic_of_radial_functions():
    """In the plane Δ r^a = a² r^{a−2}, and Δ² log² r = 8/r⁴."""
    operator = do.Biharmonic()

    def all_of(x):
        return jnp.stack([operator.exact(lambda x: f(x @ x))(x) for f, _, _ in RADIAL.values()])

    scales = np.asarray([1e-6, 1e-3, 1.0, 1e6], np.float32)
    got = jax.jit(jax.vmap(lambda s: all_of(s * jnp.array([1.0, 0.5]))))(scales)
    for scale, row in zip(scales.astype(float), np.asarray(got), strict=True):
        r = scale * np.sqrt(1.25)
        expected = [c * r**power for _, c, power in RADIAL.values()]
        np.testing.assert_allclose(row, expected, rtol=1e-5)


def test_lower_orders_at_greater_distance():
    """Δ|x| = 1/r, and ∂₀³|x| = 3 x₀ (x₀² − r²) / r⁵, in the plane."""

    def both(x):
        norm = lambda x: jnp.sqrt(x @ x)
        third = do.Partial(0, order=3).exact(norm)(x)
        return do.Laplacian().exact(norm)(x), third

    lap, third = jax.jit(jax.vmap(lambda s: both(s * jnp.array([1.0, 0.5]))))(
        jnp.asarray([1e-14, 1e-9, 1e8, 1e15])
    )
    unit = np.sqrt(1.25)
    np.testing.assert_allclose(lap * np.array([1e-14, 1e-9, 1e8, 1e15]), 1 / unit, rtol=1e-5)
    third = np.asarray(third, np.float64)[1:3] * np.array([1e-18, 1e16])
    np.testing.assert_allclose(third, 3 * (1 - unit**2) / unit**5, rtol=1e-5)


LOGARITHMS = {
    "log": jnp.log,
    "log2": lambda p: math.log(2) * jnp.log2(p),
    "log1p": lambda p: jnp.log1p(p - 1),
}


GAUSSIAN = np.float32([0.5, -0.25, 1.0, 0.75])


def of_logarithm(name, p, x):
    """By an operator, by all draws of an estimate, and a mixed derivative, which is 0."""
    u = lambda x: LOGARITHMS[name](p * jnp.exp(-jnp.sum(x**2) / 2))
    estimate = do.Laplacian().estimate(jax.random.key(0), 4)
    mixed = do.Partial(0) @ do.Partial(1)
    return [do.Laplacian().exact(u)(x), estimate(u)(x), mixed.exact(u)(x)]


@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_of_densities(name):
    """Δ log p = −d of a Gaussian p, however far from one p is."""
    values = jax.jit(functools.partial(of_logarithm, name))
    for factor in (1.0,) if name == "log1p" else (1.0, 1e-22, 1e-30, 1e30):
        got = values(jnp.float32(factor), GAUSSIAN)
        np.testing.assert_allclose(got, [-4, -4, 0], rtol=4e-6, atol=4e-6)


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_factors_of_densities_that_are_known(factor):
    got = jax.jit(lambda x: of_logarithm("log", factor, x))(GAUSSIAN)
    np.testing.assert_allclose(got, [-4, -4, 0], rtol=4e-6, atol=4e-6)


def test_logarithms_behind_a_cut():
    """Σ sin log exp(Wx − 55) is Σ sin(Wx − 55)."""
    rng = np.random.default_rng(0)
    rows = np.float32(rng.normal(size=(3, 40)) / 8)
    x = np.float32(rng.normal(size=40))
    u = lambda x: jnp.sum(jnp.sin(jnp.log(jnp.exp(jnp.asarray(rows) @ x - 55))))
    z = rows.astype(np.float64) @ x - 55
    expected = -np.sum(np.sin(z) * np.sum(np.square(rows, dtype=np.float64), axis=1))
    np.testing.assert_allclose(do.Laplacian().exact(u)(jnp.asarray(x)), expected, rtol=2e-5)


def test_incomplete_gamma_function():
    """P(½, x) = erf √x."""
    way = lambda s: do.Partial(order=2).exact(lambda t: lax.igamma(jnp.float32(0.5), s * t))
    each = np.float32([1e-30, 1e-20, 1e-6, 0.25])
    got = jax.jit(jax.vmap(lambda s: way(s)(jnp.float32(1))))(each)
    s = each.astype(float)
    expected = -np.sqrt(s) * np.exp(-s) * (1 + 2 * s) / (2 * math.sqrt(math.pi))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "slope", "order"), [("float16", 300, 2), ("float32", 1e12, K)])
def test_flat_where_steep_functions_are(dtype, slope, order):
    """No power of a great slope meets a derivative that is zero."""
    functions = [jnp.tanh, jax.nn.sigmoid, jax.nn.relu, jnp.abs, jax.nn.softplus]
    x = jnp.asarray(1.0, dtype)
    got = jax.jit(
        lambda x: jnp.stack([pushed(lambda t: f(slope * t), order)(x)[2:] for f in functions])
    )(x)
    np.testing.assert_array_equal(got, 0)


def test_gradients_stay_finite():
    """A derivative of third order, and its gradient with respect to the point, the exponent, and
    a factor: beside nested differentiation in double precision.
    """

    def u(x, a, b):
        return b * jnp.sqrt(x) * lax.pow(x, a) + jnp.log(x)

    def third(way):
        return lambda x, a, b: way(lambda x: u(x, a, b), 3)(x)[3]

    point = (1e-6, 1.25, 3.0)
    with jax.enable_x64(True):
        expected = jax.jit(jax.grad(third(nested), (0, 1, 2)))(*map(jnp.float64, point))
    got = jax.jit(jax.grad(third(pushed), (0, 1, 2)))(*map(jnp.float32, point))
    np.testing.assert_allclose(got, expected, rtol=1e-5)


FAR = {  # what is 0 or next to it where |x|² or what moves it is out of range
    "rsqrt": lambda x: lax.rsqrt(x @ x),
    "1/(1 + r²)": lambda x: 1 / (1 + jnp.sum(x**2)),
    "(1 + r²)^-2": lambda x: (1 + x @ x) ** -2.0,
    "exp": lambda x: jnp.exp(-jnp.sum(x**2)),
    "tanh": lambda x: jnp.tanh(x @ x),
    "layer norm": lambda x: eqx.nn.LayerNorm(3)(x)[0],
}
"""The square of 2x is out of single precision's range from |x| = 9e18 on, |x|² itself is not."""


@pytest.mark.parametrize("operator", [do.Laplacian(), do.Biharmonic()], ids=str)
def test_functions_of_large_norms(operator):
    """0 to rounding, and so are gradients."""

    def every(x):
        values = [operator.exact(f) for f in FAR.values()]
        gradients = [jax.grad(value)(x) for value in values[:3]]
        return jnp.stack([value(x) for value in values]), jnp.stack(gradients)

    scales = jnp.float32([5e18, 7e18, 1e19, 1.2e19])
    for found in jax.jit(jax.vmap(lambda s: every(s * jnp.array([1.0, 0.5, -0.25]))))(scales):
        assert np.isfinite(found).all(), found
        assert np.abs(found).max() < 1e-30


def test_norms_next_to_the_end_of_the_range():
    """Δ|x| = 2/|x| in space, where the square of what moves |x|² is out of range."""
    operator = do.Laplacian().exact(lambda x: jnp.sqrt(x @ x))
    scales = np.float32([1e10, 1e18, 5e18, 7e18, 1e19])
    got = jax.jit(jax.vmap(lambda s: operator(s * jnp.array([1.0, 0.5, -0.25]))))(scales)
    np.testing.assert_allclose(got, 2 / (np.sqrt(1.3125) * scales.astype(float)), rtol=1e-6)


@pytest.mark.parametrize("dtype, most", [("float32", 29), ("bfloat16", 32), ("float64", 163)])
def test_orders_whose_factorials_are_in_range(dtype, most):
    with jax.enable_x64(dtype == "float64"):
        x = jnp.asarray([0.5, 0.25], dtype)
        text = f"up to order {most}, beyond which factorials are out of its range; got order"
        for operator in (do.Partial(0, most + 1), do.DiagonalK(most + 6 + most % 2)):
            with pytest.raises(ValueError, match=text):
                operator.exact(lambda x: jnp.exp(x[0]))(x)
        if dtype == "float32":
            value = do.Partial(0, most).exact(lambda x: jnp.exp(x[0]) * x[1])(x)
            np.testing.assert_allclose(value, np.exp(0.5) / 4, rtol=1e-5)


@pytest.mark.parametrize("number", [2**31, -(2**40), 10**30])
def test_large_integers_as_coefficients(number):
    """Of integers JAX takes 32 bits."""
    x = jnp.array([0.5, 0.25])
    u = lambda x: x[0] ** 2 * x[1]
    for operator, expected in (
        (number * do.Laplacian(), number * 0.5),
        (do.Partial(0) - number * do.Partial(1), 0.25 - number * 0.25),
        (do.Laplacian() @ do.Identity() * number, number * 0.5),
    ):
        np.testing.assert_allclose(operator.exact(u)(x), float(expected), rtol=1e-6)


def test_integers_beyond_double_precision():
    with pytest.raises(ValueError, match="below 1.8e308; got an integer of 401 digits"):
        (10**400 * do.Laplacian()).exact(lambda x: x @ x)(jnp.ones(2))

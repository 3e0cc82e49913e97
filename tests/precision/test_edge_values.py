"""Points where a careless rule divides by zero or takes the logarithm of zero."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..together import Together

pytestmark = pytest.mark.usefixtures("x64")

K = 4
# f at t0, and the exact derivatives of order 0 … 4 there
# (at a kink: JAX's convention).
CASES = {
    "integer_pow_at_0": (lambda t: t**3, 0.0, [0, 0, 0, 6, 0]),
    "pow_at_0": (lambda t: jnp.power(t, 3.0), 0.0, [0, 0, 0, 6, 0]),
    "pow_array_exponent_at_0": (lambda t: t ** jnp.array(2.0), 0.0, [0, 0, 2, 0, 0]),
    "pow_one_at_0": (lambda t: t ** jnp.array(1.0), 0.0, [0, 1, 0, 0, 0]),
    "pow_zero_exponent_at_0": (lambda t: t ** jnp.array(0.0), 0.0, [1, 0, 0, 0, 0]),
    "pow_negative_base": (lambda t: t ** jnp.array(3.0), -2.0, [-8, 12, -12, 6, 0]),
    "square_at_0": (lambda t: jnp.square(t), 0.0, [0, 0, 2, 0, 0]),
    "product_with_zero": (lambda t: jnp.prod(jnp.stack([t, t, 1 + t])), 0.0, [0, 0, 2, 6, 0]),
    "two_zero_factors": (lambda t: jnp.prod(jnp.stack([t, t])), 0.0, [0, 0, 2, 0, 0]),
    "cumprod_with_zero": (lambda t: jnp.cumprod(jnp.stack([t, 1 + t]))[1], 0.0, [0, 1, 2, 0, 0]),
    "relu_at_0": (jax.nn.relu, 0.0, [0, 0, 0, 0, 0]),
    "abs_at_0": (jnp.abs, 0.0, [0, 1, 0, 0, 0]),
    "sinc_at_0": (jnp.sinc, 0.0, [1, 0, -(np.pi**2) / 3, 0, np.pi**4 / 5]),
    "tanh_saturated": (jnp.tanh, 400.0, [1, 0, 0, 0, 0]),
    "sigmoid_saturated": (jax.nn.sigmoid, -800.0, [0, 0, 0, 0, 0]),
    "softplus_large": (jax.nn.softplus, 800.0, [800, 1, 0, 0, 0]),
    "gelu_large": (jax.nn.gelu, 60.0, [60, 1, 0, 0, 0]),
    "logaddexp_far": (lambda t: jnp.logaddexp(t, -900.0), 800.0, [800, 1, 0, 0, 0]),
    "exp_underflow": (jnp.exp, -1000.0, [0, 0, 0, 0, 0]),
    "flat_beside_0": (lambda t: jnp.exp(-1 / t**2), 1e-30, [0, 0, 0, 0, 0]),
    "flat_beside_0_base_2": (lambda t: jnp.exp2(-1 / t**2), -1e-30, [0, 0, 0, 0, 0]),
    "safe_sqrt": (
        lambda t: jnp.where(t > 0, jnp.sqrt(jnp.where(t > 0, t, 1.0)), 0.0),
        0.0,
        [0, 0, 0, 0, 0],
    ),
    "atan2_on_axis": (lambda t: jnp.arctan2(t, 2.0), 0.0, [0, 1 / 2, 0, -1 / 4, 0]),
    "atan2_zero_denominator": (
        lambda t: jnp.arctan2(2.0, t),
        0.0,
        [np.pi / 2, -1 / 2, 0, 1 / 4, 0],
    ),
    "division_zero_numerator": (lambda t: t / (1.0 + t), 0.0, [0, 1, -2, 6, -24]),
    "asin_at_0": (jnp.arcsin, 0.0, [0, 1, 0, 1, 0]),
    "sqrt_at_infinity": (jnp.sqrt, np.inf, [np.inf, 0, 0, 0, 0]),
    "cbrt_at_infinity": (jnp.cbrt, -np.inf, [-np.inf, 0, 0, 0, 0]),
    "pow_at_infinity": (lambda t: t**0.3, np.inf, [np.inf, 0, 0, 0, 0]),
    # to the right of the kink, so that i0 = e^{|x|} i0e is smooth where the slope of |x| is 1
    "i0e_at_0": (jax.scipy.special.i0e, 0.0, [1, -1, 3 / 2, -5 / 2, 35 / 8]),
    "i1e_at_0": (jax.scipy.special.i1e, 0.0, [0, 1 / 2, -1, 15 / 8, -7 / 2]),
    "i0e_at_infinity": (jax.scipy.special.i0e, np.inf, [0, 0, 0, 0, 0]),
    "i1e_at_infinity": (jax.scipy.special.i1e, -np.inf, [0, 0, 0, 0, 0]),
    "norm_squared_at_0": (lambda t: jnp.sum(jnp.stack([t, 2 * t]) ** 2), 0.0, [0, 0, 10, 0, 0]),
}


def along_and_collapsed(name):
    """All orders along the line, and ∂² along each of two coordinates that both enter through f."""
    f = CASES[name][0]
    both = do.Laplacian().exact(lambda x: f(x[0]) + 2 * f(x[1]))
    series = [jnp.ones(()), *[jnp.zeros(())] * (K - 1)]

    def at(points):
        t0 = points[name]
        primal, terms = do.taylor.jet(f, (t0,), (series,))
        return [primal, *terms], both(jnp.stack([t0, t0]))

    return at


by_name = Together(list(CASES), along_and_collapsed)


def at_the_point(name):
    return by_name(name, {name: jnp.array(t0) for name, (_, t0, _) in CASES.items()})


@pytest.mark.parametrize("name", CASES)
def test_derivatives_where_rules_are_delicate(name):
    got, _ = at_the_point(name)
    np.testing.assert_allclose(got, CASES[name][2], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_operators_at_the_same_values(name):
    _, got = at_the_point(name)
    np.testing.assert_allclose(got, 3 * CASES[name][2][2], rtol=1e-12, atol=1e-12)


# the slope 2/s³ of −1/s² is in range, but not its second or its fourth power
SMALL = {
    ("float32", do.Laplacian()): 1e-7,
    ("float32", do.Biharmonic()): 1e-5,
    ("float64", do.Laplacian()): 1e-60,
    ("float64", do.Biharmonic()): 1e-40,
}


@pytest.mark.parametrize("dtype, operator", SMALL, ids=str)
@pytest.mark.parametrize("probes", [None, "sparse", "gaussian"])
def test_where_an_exponential_underflows(probes, dtype, operator):
    """Of exp(−1/s²) for such s all derivatives are 0, and so are gradients of the second."""
    x = SMALL[dtype, operator] * jnp.array([1.0, 1.25, -0.75, 0.5], dtype)

    def apply(u):
        if probes is None:
            return operator.exact(u)
        return operator.estimate(jax.random.key(0), 3, probes=probes)(u)

    functions = (
        lambda a, x: jnp.sum(jnp.exp(-a / x**2)),
        lambda a, x: jnp.exp(-a / jnp.sum(jnp.ones((4, 4), dtype) @ x) ** 2),
    )

    @jax.jit
    def every(a, x):
        values = [lambda a, u=u: apply(lambda x: u(a, x))(x) for u in functions]
        if operator == do.Laplacian():
            values = map(jax.value_and_grad, values)
        return [value(a) for value in values]

    assert not np.any(jax.tree.leaves(every(jnp.ones((), dtype), x)))


@pytest.mark.parametrize("t", [0.0, -2.0])
def test_integer_exponent_array(t):
    """JAX's own rule for this needs lenient promotion."""
    with jax.numpy_dtype_promotion("standard"):
        got = do.DiagonalK(3).exact(lambda x: jnp.sum(jax.lax.pow(x, jnp.int32(4))))(jnp.array([t]))
    np.testing.assert_allclose(got, 24 * t, rtol=1e-12, atol=1e-12)


def test_gradient_through_pow_at_zero_is_finite():
    u = lambda w: lambda x: jnp.sum(w * x**3 + jnp.power(x, 2.0))
    got = jax.grad(lambda w: do.Laplacian().exact(u(w))(jnp.zeros(2)))(jnp.array(1.5))
    np.testing.assert_allclose(got, 0.0, atol=0)


@pytest.mark.parametrize("point", ([0.0, 0.0, 0.0], [0.0, 1.0, -1.0]), ids=["origin", "axis"])
def test_squared_norm(point):
    got = do.Laplacian().exact(lambda x: jnp.linalg.norm(x * 2.0 + 1.0) ** 2)(jnp.array(point))
    np.testing.assert_allclose(got, 24.0, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("of", ["zero", "smallest", "largest", "infinity"])
def test_division_by_a_known_number(of, dtype):
    """Where 1/a is not a number of the type, b/a is what JAX makes of it."""
    limits = np.finfo(dtype)
    a = {"zero": 0.0, "smallest": limits.smallest_subnormal, "largest": limits.max}.get(of, np.inf)
    a = np.asarray(a, dtype)
    f = lambda t: jnp.sin(t) / a
    t, one, large = (jnp.asarray(each, dtype) for each in (0.5, 1.0, limits.max / 4))
    slope = lambda v: lambda t: jax.jvp(f, (t,), (v,))[1]

    @jax.jit
    def every(t):
        _, (first, _) = do.taylor.jet(f, (t,), ([large, jnp.zeros_like(t)],))
        second = do.Laplacian().exact(lambda x: jnp.sum(f(x)))(t[None])
        return (first, second), (slope(large)(t), jax.jvp(slope(one), (t,), (one,))[1])

    got, expected = every(t)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_slope_of_a_power_out_of_range_is_infinite():
    """It is not taken for that of a root at ∞, which is 0."""
    assert do.Partial().exact(lambda t: t**-3.5)(jnp.array(1e-200)) == -jnp.inf


@pytest.mark.parametrize("exponent", [np.inf, -np.inf, np.nan, 1e7, 1e150, -1e150])
def test_powers_out_of_range(exponent):
    """They are what JAX makes of them."""
    u, x = lambda x: jnp.sum(x**exponent), jnp.array([0.5, 1.5])
    np.testing.assert_array_equal(do.Gradient().exact(u)(x), jax.grad(u)(x))
    np.testing.assert_array_equal(do.Partial(0, 2).exact(u)(x), jax.hessian(u)(x)[0, 0])

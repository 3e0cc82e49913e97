"""Next to zeros of a derivative: in float32 as many digits as JAX's own value and slope have."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import diffop as do

FUNCTIONS = {
    "tanh": (jnp.tanh, np.sqrt([1 / 3, 2 / 3]), np.arctanh),
    "logistic": (lax.logistic, 0.5 + np.sqrt([1 / 12, 1 / 6]), lambda y: np.log(y / (1 - y))),
    "erf": (lax.erf, np.sqrt([1 / 2, 3 / 2]), lambda x: x),
    "erfc": (lax.erfc, np.sqrt([1 / 2, 3 / 2]), lambda x: x),
}


def by_hand(name, x, y, slope):
    """f″, f‴, f⁗ from the value and the slope."""
    if name == "tanh":
        return -2 * y * slope, slope * (6 * y**2 - 2), -2 * y * slope * (12 * y**2 - 8)
    if name == "logistic":
        t = 1 - 2 * y
        return t * slope, slope * (3 * t**2 - 1) / 2, t * slope * (3 * t**2 - 2)
    return -2 * x * slope, slope * (4 * x**2 - 2), -x * slope * (8 * x**2 - 12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_digits_are_lost(name):
    f, zeros, inverse = FUNCTIONS[name]
    away = np.concatenate([[0], np.geomspace(1e-7, 0.3, 200)])
    points = inverse(zeros)[:, None] * (1 + np.concatenate([-away, away]))
    x = np.float32(np.concatenate([points, -points]).reshape(-1))

    @jax.jit
    def pushed(x):
        line = [jnp.ones_like(x), *[jnp.zeros_like(x)] * 3]
        return do.taylor.jet(f, (x,), (line,))

    value, (slope, *higher) = pushed(x)
    known = (np.asarray(each, np.float64) for each in (x, value, slope))
    for got, expected in zip(higher, by_hand(name, *known), strict=True):
        rounding = 8 * np.finfo(np.float64).eps  # of the formula's own sum
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(np.float32).eps, atol=rounding)


def test_far_away():
    """Where the slope is 0, so are the others: the square of x is no number of the type."""
    for f in (lax.erf, lax.erfc, jnp.tanh, lax.logistic):
        got = do.Partial(order=4).exact(f)(jnp.float32(1e25))
        assert got == 0

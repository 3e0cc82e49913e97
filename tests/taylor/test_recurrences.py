"""Taylor coefficients by differential equations, beside JAX's own derivatives nested."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import diffop as do
from diffop.taylor import primitive

from .. import jaxprs

FUNCTIONS = {
    **{name: getattr(jnp, name) for name in ("exp", "exp2", "expm1", "sin", "cos", "sinh")},
    **{name: getattr(jnp, name) for name in ("cosh", "tan", "tanh")},
    **{name: getattr(lax, name) for name in ("logistic", "erf", "erfc")},
}
POINTS = np.array([-2.7, -0.31, -1e-6, 1e-4, 0.013, 0.5, 1.1, 4.0])
ORDER = 6


def nested(f):
    """f′ … f⁽⁶⁾ at all points."""

    def at_each(x):
        found = []
        g = f
        for _ in range(ORDER):
            g = jax.grad(g)
            found.append(jax.vmap(g)(x))
        return jnp.stack(found)

    return at_each


def ours(f):
    def at_each(x):
        line = [jnp.ones_like(x), *(jnp.zeros_like(x) for _ in range(ORDER - 1))]
        return jnp.stack(do.taylor.jet(f, (x,), (line,))[1])

    return at_each


@pytest.fixture(scope="module")
def pushed():
    """By name, our derivatives in single and in double precision: one program each."""
    all_of_them = jax.jit(lambda x: {name: ours(f)(x) for name, f in FUNCTIONS.items()})
    single = all_of_them(jnp.asarray(POINTS, jnp.float32))
    with jax.enable_x64(True):
        double = all_of_them(jnp.asarray(np.float64(np.float32(POINTS))))
    return single, double


def test_all_are_here():
    records = primitive._records.items()
    assert set(FUNCTIONS) == {name for name, each in records if each.recurrence is not None}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_beside_nested_derivatives(name, pushed, kept):
    """In double precision; and in single precision beside JAX's own errors at each point, relative
    to this derivative or to the one before: either may lose digits next to zeros.
    """
    single, double = (np.asarray(each[name], np.float64) for each in pushed)
    reference = jax.jit(nested(FUNCTIONS[name]))
    same = kept(lambda: reference(jnp.asarray(POINTS, jnp.float32)))
    with jax.enable_x64(True):
        truth = kept(lambda: reference(jnp.asarray(np.float64(np.float32(POINTS)))))
    scale = np.max(np.abs(truth), axis=1, keepdims=True)
    assert np.max(np.abs(double - truth) / scale) < 1e-13
    size = np.abs(truth)
    size[1:] = np.maximum(size[1:], size[:-1])
    own, theirs = (np.abs(np.asarray(each, np.float64) - truth) / size for each in (single, same))
    assert (own <= 8 * theirs + 4 * np.finfo(np.float32).eps).all(), (own, theirs)


def test_the_second_derivative_of_tanh_next_to_zero():
    """−2y(1 − y²), to the last bits: nested derivatives subtract numbers that agree there."""
    x = np.float32(1e-6)
    got = do.Partial(order=2).exact(jnp.tanh)(jnp.asarray(x))
    y = math.tanh(float(x))
    assert abs(float(got) / (-2 * y * (1 - y**2)) - 1) <= 2 * np.finfo(np.float32).eps


def test_few_equations_at_high_order():
    """Each of the numbers costs few products, where derivatives of derivatives double."""
    for f in (jnp.tanh, lax.erf):
        low, high = (len(jaxprs.of(do.Partial(order=k).exact(f), 0.5)) for k in (4, 8))
        assert high <= 6 * low

"""Where nested `jax.jvp` gives a number, so does a jet: zeros, kinks, and values near the ends of
the range.
"""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import pytest
from jax import lax

import diffop as do

from .. import digits

K = 4
MODERATE = np.array([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, 3.0, -3.0, 6.0, -30.0, 30.0])
EXTREME = np.array([1e-30, -1e-30, 400.0, -400.0, 1e4, -1e4])
"""Here derivatives that are differences have no digits left in either way, but are numbers."""

_pair = lambda t: jnp.stack([t, 2 * t])
_ties = lambda t: jnp.stack([t, t, 2 * t])
_nonzero = lambda t: jnp.where(t == 0, 1.0, t)

FUNCTIONS = {
    "entrywise": (
        *(jnp.abs, jnp.exp, jnp.expm1, jnp.log, jnp.log1p, jnp.sqrt, jnp.cbrt, lax.rsqrt),
        *(jnp.reciprocal, jnp.sign, jnp.sinc, jnp.tan, jnp.arcsin, jnp.arccos, jnp.arccosh),
        *(jnp.tanh, jnp.arctanh, jnp.arctan, lax.erf, lax.erf_inv, lax.lgamma, lax.digamma),
    ),
    "activations": (
        *(jax.nn.relu, jax.nn.relu6, jax.nn.elu, jax.nn.celu, jax.nn.selu, jax.nn.leaky_relu),
        *(jax.nn.softplus, jax.nn.log_sigmoid, jax.nn.sigmoid, jax.nn.silu, jax.nn.gelu),
        *(jax.nn.mish, jax.nn.soft_sign, jax.nn.hard_tanh, jax.nn.hard_silu, jax.nn.squareplus),
    ),
    "powers": (
        *(lambda t: t**2, lambda t: t**-1, lambda t: t**2.5, lambda t: t**0.5),
        *(lambda t: jnp.power(t, jnp.asarray(3.0, t.dtype)), lambda t: t**t),
        *(lambda t: jnp.power(t, jnp.asarray(0.0, t.dtype)), lambda t: 2.0**t, lambda t: 0.0**t),
    ),
    "quotients": (
        *(lambda t: t / t, lambda t: t / jnp.abs(t), lambda t: t / (1 + t), lambda t: 1 / t),
        *(lambda t: jnp.where(t == 0, 1.0, jnp.sin(t) / _nonzero(t)), lambda t: t % 1.0),
        *(lambda t: jsp.special.xlogy(t, t), jsp.special.entr, lambda t: jnp.arctan2(t, 1.0)),
    ),
    "norms": (
        *(lambda t: jnp.linalg.norm(_pair(t)), lambda t: jnp.linalg.norm(_pair(t), ord=1)),
        *(lambda t: jnp.linalg.norm(t[None]), lambda t: jnp.std(_pair(t)), lambda t: t * t),
        *(lambda t: jnp.hypot(t, t), lambda t: jnp.hypot(t, 3.0), lambda t: jnp.var(_ties(t))),
        *(lambda t: jnp.abs(lax.complex(t, 2 * t)), lambda t: jnp.sqrt(1e-6 + t * t)),
    ),
    "reductions": (
        *(lambda t: jsp.special.logsumexp(_ties(t)), lambda t: jax.nn.softmax(_ties(t))[0]),
        *(lambda t: jsp.special.logsumexp(jnp.stack([t, jnp.full_like(t, -jnp.inf)])),),
        *(lambda t: jax.nn.log_softmax(_pair(t))[1], lambda t: jnp.logaddexp(t, -t)),
        *(
            lambda t: jnp.max(_ties(t)),
            lambda t: jnp.min(_ties(t)),
            lambda t: jnp.sort(_ties(t))[0],
        ),
        *(lambda t: jnp.prod(_ties(t)), lambda t: jnp.cumprod(_pair(t))[1]),
        *(lambda t: jnp.maximum(t, 0.0), lambda t: jnp.clip(t, -1.0, 1.0)),
    ),
}


def _nested(f):
    orders = [f]
    for _ in range(K):
        orders.append(_slope(orders[-1]))
    return lambda t: jnp.stack([each(t) for each in orders])


def _slope(f):
    return lambda t: jax.jvp(f, (t,), (jnp.ones_like(t),))[1]


def _pushed(f):
    def all_orders(t):
        series = [jnp.ones_like(t), *[jnp.zeros_like(t)] * (K - 1)]
        primal, terms = do.taylor.jet(f, (t,), (series,))
        return jnp.stack([primal, *terms])

    return all_orders


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("group", FUNCTIONS)
def test_finite_where_nested_jvp_is(group, dtype, kept):
    with jax.enable_x64(dtype == "float64"):
        points = jnp.asarray(np.concatenate([MODERATE, EXTREME]), dtype)

        def all_of(way):
            return jax.jit(jax.vmap(lambda t: jnp.stack([way(f)(t) for f in FUNCTIONS[group]])))

        expected = np.array(kept(lambda: all_of(_nested)(points)))
        got = np.asarray(all_of(_pushed)(points))
    wanted = np.isfinite(expected) & np.isfinite(expected[:, :, :1])
    assert wanted.mean() > 0.5
    assert np.isfinite(got[wanted]).all()
    wanted[len(MODERATE) :] = False
    if group == "activations":  # at 6 no digits are left of gelu's derivatives by JAX's own rules
        place = FUNCTIONS[group].index(jax.nn.gelu)
        orders = np.asarray(digits.derivatives(digits.gelu, MODERATE))[: K + 1]
        expected[: len(MODERATE), place] = orders.T
    scale = 1 + np.max(np.abs(expected), axis=2, keepdims=True, where=wanted, initial=0)
    errors = np.subtract(got, expected, where=wanted, out=np.zeros_like(got)) / scale
    assert np.abs(errors).max() <= 1e3 * np.finfo(dtype).eps

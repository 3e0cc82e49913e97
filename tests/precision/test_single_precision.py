"""As most users run it: without double precision enabled, and under strict promotion."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import functions, oracle
from ..functions import TOLERANCE
from ..operators import table

CASES = tuple(table.operators() + table.gradients())


FUNCTION = functions.SHALLOW


@functools.cache
def values():
    """What every operator makes of a function: one program."""
    with jax.enable_x64(True):
        model, points = FUNCTION.model("float32"), FUNCTION.points("float32")
    every = lambda x: {case.name: case.operator("float32").exact(model)(x) for case in CASES}
    return jax.jit(jax.vmap(every))(*points)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exact_without_x64(case, kept):
    with jax.enable_x64(True):
        oracles = lambda: functions.expected_values(CASES, FUNCTION, "float32")
        expected = kept(lambda: oracles()[case.name])
    got = values()[case.name]
    assert got.dtype == jnp.float32
    assert abs(jax.device_get(got) - expected).max() <= TOLERANCE["float32"] * np.sqrt(
        np.mean(expected**2)
    )


@pytest.mark.parametrize(("alpha", "tolerance"), [((3, 1, 0), 1e-5), ((2, 2, 2), 1e-4)])
def test_high_derivatives_in_float32(alpha, tolerance):
    """The largest error over points, relative to the root mean square of the derivative."""
    net = eqx.nn.MLP(3, "scalar", 32, 2, activation=jnp.tanh, key=jax.random.key(0))
    points = np.random.default_rng(0).normal(size=(20, 3))

    def along(u, i):
        return lambda x: jax.jvp(u, (x,), (jnp.zeros_like(x).at[i].set(1),))[1]

    with jax.enable_x64(True):
        reference = oracle.to64(net)
        for i, order in enumerate(alpha):
            for _ in range(order):
                reference = along(reference, i)
        expected = np.asarray(jax.jit(jax.vmap(reference))(jnp.asarray(points)))
    got = jax.jit(jax.vmap(do.Mixed(alpha).exact(net)))(jnp.asarray(points, jnp.float32))
    assert got.dtype == jnp.float32
    error = np.max(np.abs(np.asarray(got, np.float64) - expected))
    assert error <= tolerance * np.sqrt(np.mean(expected**2))

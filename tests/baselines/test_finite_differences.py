"""Steps and errors of central differences are as they say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..waves import Waves

KEY = jax.random.key(0)
X = np.array([0.3, -0.5, 0.8, 0.1])


def differences(ops, u, x, step=None):
    estimate = do.baselines.estimate(do.baselines.FiniteDifferences(step), ops, KEY, 4)
    return jax.tree.map(float, jax.jit(estimate(u))(x))


@pytest.mark.parametrize("double", [False, True])
def test_errors_are_within_the_bound(double):
    """h²/12 |f⁗| + 4ε|f|/h² for each coordinate, h²/6 |f‴| + ε|f|/h for a first derivative."""
    with jax.enable_x64(double):
        waves, x = Waves(4), jnp.asarray(X)
        ops = {"lap": do.Laplacian(), "slope": do.Partial(1)}
        found = differences(ops, waves, x)
        epsilon = float(jnp.finfo(x.dtype).eps)
    f = waves.derivatives(np.asarray(x, float), 4)
    i = np.arange(4)
    second, first = (48 * epsilon) ** (1 / 4), (3 * epsilon) ** (1 / 3)
    # the remainder is at a point on the way, where derivatives may be 1.2 times as large
    bound = 1.2 * second**2 / 12 * np.abs(f[4][i, i, i, i]).sum() + 16 * epsilon * f[0] / second**2
    assert abs(found["lap"] - np.trace(f[2])) <= bound <= 1e-2 * np.trace(f[2])
    bound = 1.2 * first**2 / 6 * abs(f[3][1, 1, 1]) + epsilon * f[0] / first
    assert abs(found["slope"] - f[1][1]) <= bound


@pytest.mark.parametrize("double", [False, True])
def test_steps(double):
    """At 0 the differences of x⁴ are 2h², those of x³ are h²."""
    with jax.enable_x64(double):
        x, both = jnp.zeros(4), [do.Laplacian(), do.Partial(2)]
        epsilon = float(jnp.finfo(x.dtype).eps)
        second = differences(do.Laplacian(), lambda x: jnp.sum(x**4), x)
        along = differences(do.ParabolicTrace(3.0), lambda x: jnp.sum(x**4), x)
        first = differences(do.Partial(2), lambda x: jnp.sum(x**3), x)
        given = differences(both, lambda x: jnp.sum(x**4 + x**3), x, 0.1)
    np.testing.assert_allclose(second, 4 * 2 * (48 * epsilon) ** 0.5, rtol=1e-5)
    np.testing.assert_allclose(along, 4.5 * second, rtol=1e-5)  # ½ 3² of it: as long a step
    np.testing.assert_allclose(first, (3 * epsilon) ** (2 / 3), rtol=1e-5)
    np.testing.assert_allclose(given, [4 * 2 * 0.01, 0.01], rtol=1e-5)


def test_vectors_of_length_zero():
    field = do.Directional(lambda x: 0.0 * x)
    ops = [field, do.ParabolicTrace(0.0)]
    assert differences(ops, lambda x: jnp.sum(x**2), jnp.ones(4)) == [0.0, 0.0]


@pytest.mark.parametrize("step", [0.0, -0.1, float("inf"), float("nan")])
def test_steps_that_cannot_be(step):
    with pytest.raises(ValueError, match="a step that is a finite positive number, or None"):
        do.baselines.FiniteDifferences(step=step)

"""Randomised smoothing against smoothed functions in closed form.

Each entry of a test fails a correct library with probability 7e-6 (4.5 standard errors, two-sided);
the derivatives of u itself are further away than that, which is asserted as well.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

Z = 4.5
SIGMA = 0.5
A = np.array([0.9, -0.6, 0.7])
X = np.array([0.4, 0.2, 0.5])
FACTOR = np.array([[1.0, 0.5], [0.0, 2.0], [0.5, -1.0]])


def means(u, ops, keys=20_000):
    """Means over draws of four pairs, and their standard errors."""
    one = lambda key: do.baselines.estimate(do.baselines.Stein(sigma=SIGMA), ops, key, 4)(u)(
        jnp.asarray(X)
    )
    values = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(1), keys))
    found = {name: np.asarray(value) for name, value in values.items()}
    return {name: (v.mean(axis=0), v.std(axis=0) / np.sqrt(keys)) for name, v in found.items()}


def test_a_sine():
    """E sin(a·(x + σz)) = sin(a·x) e^{−σ²|a|²/2}: all derivatives are damped alike."""
    ops = {
        "u": do.Identity(),
        "partial": do.Partial(1),
        "gradient": do.Gradient(),
        "laplacian": do.Laplacian(),
        "mixed": do.Mixed({0: 1, 2: 1}),
        "parabolic": do.ParabolicTrace(jnp.asarray(FACTOR)),
    }
    sine, cosine = np.sin(A @ X), np.cos(A @ X)
    exact = {
        "u": sine,
        "partial": A[1] * cosine,
        "gradient": A * cosine,
        "laplacian": -(A @ A) * sine,
        "mixed": -A[0] * A[2] * sine,
        "parabolic": -0.5 * np.sum((FACTOR.T @ A) ** 2) * sine,
    }
    damping = np.exp(-(SIGMA**2) * (A @ A) / 2)
    for name, (mean, error) in means(lambda x: jnp.sin(jnp.asarray(A) @ x), ops).items():
        assert np.all(np.abs(mean - damping * exact[name]) <= Z * error), name
        assert np.all(Z * error <= np.abs((1 - damping) * exact[name])), name


def test_a_quadratic():
    """E ½ (x + σz)ᵀH(x + σz) = ½ xᵀHx + σ²/2 tr H: only the value is changed."""
    H = np.array([[2.0, 1.0, 0.0], [1.0, -1.0, 0.5], [0.0, 0.5, 3.0]])
    ops = {"u": do.Identity(), "laplacian": do.Laplacian(), "gradient": do.Gradient()}
    found = means(lambda x: x @ jnp.asarray(H) @ x / 2, ops)
    smoothed = X @ H @ X / 2 + SIGMA**2 / 2 * np.trace(H)
    for name, expected in {"u": smoothed, "laplacian": 4.0, "gradient": H @ X}.items():
        mean, error = found[name]
        assert np.all(np.abs(mean - expected) <= Z * error), name
        assert np.all(error < 0.02 * np.abs(expected).max()), name


def test_equal_keys_are_equal_draws():
    u = lambda x: jnp.sin(jnp.asarray(A) @ x)
    estimate = lambda key: do.baselines.estimate("stein", do.Laplacian(), key, 3)(u)(jnp.asarray(X))
    values = [jax.jit(estimate)(jax.random.key(seed)) for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("inf"), float("nan")])
def test_widths(sigma):
    with pytest.raises(ValueError, match="Stein expects a sigma that is a finite positive number"):
        do.baselines.Stein(sigma=sigma)

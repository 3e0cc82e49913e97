"""Means over all draws, by enumeration: the random sources are replaced by every outcome."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.probes import sampling

from ..waves import Waves

pytestmark = pytest.mark.usefixtures("x64")

D = 4
X = np.array([0.3, -0.5, 0.8, 0.1])
WAVES = Waves(D)
HESSIAN = WAVES.derivatives(X, 2)[2]


def u(amplitudes):
    """Waves(D), with amplitudes to differentiate by."""
    return lambda x: amplitudes @ jnp.exp(jnp.asarray(WAVES.vectors) @ x)


def laplacian(method, key, n):
    """Its value and its gradient by the amplitudes, as one array."""
    estimate = do.baselines.estimate(method, do.Laplacian(), key, n)
    of_amplitudes = lambda amplitudes: estimate(u(amplitudes))(jnp.asarray(X))
    value, gradient = jax.value_and_grad(of_amplitudes)(jnp.asarray(WAVES.amplitudes))
    return jnp.append(gradient, value)


# Δ of A_j e^{w_j·x} is |w_j|² times it
EXPECTED = np.append(
    np.sum(WAVES.vectors**2, axis=1) * np.exp(WAVES.vectors @ X), np.trace(HESSIAN)
)


def over_all(monkeypatch, owner, name, outcomes, function):
    def one(outcome):
        monkeypatch.setattr(owner, name, lambda *_: outcome)
        return function()

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(outcomes)))


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [
        ("sdgd-loop", 1e-13),
        ("sdgd", 1e-13),
        ("forward-over-reverse", 1e-13),
        ("jet", 1e-13),
        ("finite-differences", 1e-7),
    ],
)
def test_mean_over_all_sets_of_coordinates(monkeypatch, method, tolerance):
    pairs = list(itertools.combinations(range(D), 2))
    draws = lambda: laplacian(method, jax.random.key(0), 2)
    values = over_all(monkeypatch, sampling, "subset", pairs, draws)
    np.testing.assert_allclose(values.mean(axis=0), EXPECTED, rtol=tolerance)
    assert values[:, -1].std() > 0.1 * abs(EXPECTED[-1])


def test_hutchinson_over_all_signs(monkeypatch):
    """The mean, and the variance 2/n Σ_{i≠j} H_ij²."""
    signs = np.reshape(list(itertools.product([-1.0, 1.0], repeat=2 * D)), (-1, 2, D))
    draws = lambda: laplacian("hte", jax.random.key(0), 2)
    values = over_all(monkeypatch, do.probes.Rademacher, "directions", signs, draws)
    np.testing.assert_allclose(values.mean(axis=0), EXPECTED, rtol=1e-12)
    off_diagonal = np.sum(HESSIAN**2) - np.sum(np.diag(HESSIAN) ** 2)
    np.testing.assert_allclose(values[:, -1].var(), 2 / 2 * off_diagonal, rtol=1e-12)

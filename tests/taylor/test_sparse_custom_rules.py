"""Functions with derivative rules of their own where directions are still sparse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.3, -0.2, 0.5, 0.7])
ACTIVATIONS = {
    name: getattr(jax.nn, name) for name in ("relu", "relu6", "softplus", "silu", "gelu", "mish")
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_of_the_point_itself(name):
    """All pairs of coordinates that may be drawn: their mean is the Laplacian."""
    u = lambda x: jnp.sum(ACTIVATIONS[name](jnp.sin(x)) * jnp.arange(4.0))
    second = np.diag(jax.hessian(u)(jnp.asarray(X)))
    found = jax.vmap(
        lambda key: do.Laplacian().estimate(key, 2, probes="sparse")(u)(jnp.asarray(X))
    )(jax.random.split(jax.random.key(0), 100))
    possible = [2 * (second[i] + second[j]) for i in range(4) for j in range(i)]
    distances = np.abs(np.asarray(found)[:, None] - np.array(possible))
    assert np.max(np.min(distances, axis=1)) < 1e-12
    assert set(np.round(np.asarray(found), 9)) == set(np.round(possible, 9))  # each pair comes up

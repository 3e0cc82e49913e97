"""A Diffrax program with our divergence in the place of its own."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from .flow import by_diffop, by_reverse_mode, log_density
from .times import draw


def test_the_density_of_a_flow():
    """Its value, and its gradient by the weights."""
    weights, y = draw((7, 5), (7, 7), (5, 7)), jnp.linspace(-1.0, 1.0, 5)

    def found(divergence):
        of_weights = functools.partial(log_density, divergence)
        return jax.jit(jax.value_and_grad(of_weights))(weights, y)

    ours, theirs = found(by_diffop), found(by_reverse_mode)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)

"""How large the arrays of a program are: one direction after the other, or all at once."""

import jax
import jax.numpy as jnp
import pytest

import diffop as do

from .. import jaxprs
from ..networks import Network

D, N = 50, 16


def largest(method):
    """Of the gradient of a squared estimate by the parameters."""
    estimate = do.baselines.estimate(method, do.Laplacian(), jax.random.key(0), N)
    loss = lambda u, x: estimate(u)(x) ** 2
    u = Network(D, (3, 3))
    return max(jaxprs.sizes(jaxprs.of(jax.grad(loss), u, jnp.ones(D))))


def test_the_loop_has_the_memory_of_one():
    assert largest("sdgd-loop") < N * D


@pytest.mark.parametrize("method", ["sdgd", "forward-over-reverse", "jet", "hte"])
def test_all_at_once(method):
    assert largest(method) >= N * D

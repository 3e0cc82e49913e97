"""Where the engine knows that two coefficients are of one array, they are; where derivatives of two
matrices are pushed together, beside those of each one alone by nested `jax.jacfwd`.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..oracle import contract, derivatives

pytestmark = pytest.mark.usefixtures("x64")

A, B = np.random.default_rng(0).normal(size=(2, 3, 3))
FUNCTIONS = {
    "products of either kind": lambda a, b: (jnp.sum(a @ b) + jnp.sum(a * b)) ** 3,
    "the other way round": lambda a, b: (jnp.sum(b @ a) + jnp.sum(b * a)) ** 3,
    "in both orders": lambda a, b: (jnp.sum(a @ b) + jnp.sum(b @ a)) ** 3,
    "a transposed one": lambda a, b: (jnp.sum(a * b.T) + jnp.sum(a * b)) ** 3,
    "squares of either kind": lambda a, b: (jnp.sum(a @ a) + jnp.sum(a * a) + jnp.sum(b)) ** 3,
}


def power_sum(power, size=A.size):
    """The tensor of Σ ∂_i^power."""
    tensor = np.zeros((size,) * power)
    np.fill_diagonal(tensor, 1)
    return {power: tensor}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("powers", [(2, 3), (3, 2), (2, 2)])
def test_of_two_matrices(name, powers):
    u, (first, second) = FUNCTIONS[name], (do.DiagonalK(k, argnum=i) for i, k in enumerate(powers))
    got = jax.jit((first + second).exact(u))(A, B)
    args = jnp.asarray(A), jnp.asarray(B)
    each = [contract(power_sum(k), derivatives(u, args, k, (i,))) for i, k in enumerate(powers)]
    np.testing.assert_allclose(got, sum(each), rtol=1e-11)

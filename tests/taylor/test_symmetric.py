"""Products by halves, against whole ones in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop.taylor import symmetric
from diffop.taylor.symmetric import blocks_of, quadratic_form, share, symmetric_product

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)


def indefinite(size):
    matrix = RNG.normal(size=(size, size))
    return matrix + matrix.T


@pytest.mark.parametrize("size", [2100, 7])
def test_a_product_with_its_own_transpose(size):
    wide = RNG.normal(size=(size, 7))
    np.testing.assert_allclose(symmetric_product(jnp.asarray(wide)), wide @ wide.T, atol=1e-13)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("width", [1, 4])
def test_a_quadratic_form(size, width, monkeypatch):
    monkeypatch.setattr(symmetric, "LEAST", 2)
    matrix, array = indefinite(size), RNG.normal(size=(size, width))
    got = quadratic_form(blocks_of(jnp.asarray(matrix)), jnp.asarray(array))
    np.testing.assert_allclose(got, np.einsum("ij,ik,jk->k", matrix, array, array), atol=1e-12)


@pytest.mark.parametrize(("size", "most"), [(200, 1.0), (512, 0.625), (1024, 0.5625)])
def test_how_much_is_multiplied(size, most):
    operands = jnp.ones((size, size)), jnp.ones((size, 3))
    form = lambda matrix, array: quadratic_form(blocks_of(matrix), array)
    count = jaxprs.multiplications(jaxprs.of(form, *operands))
    assert count == share(size) * size * size * 3
    assert share(size) == most
    value = jnp.sum(jax.jit(form)(*operands))
    assert value == 3.0 * size * size

"""Products by halves, against whole ones in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop.kernels import call, device, halves, symmetric
from diffop.kernels.halves import blocks_of, form_by_halves

from .. import jaxprs

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)


def indefinite(size):
    matrix = RNG.normal(size=(size, size))
    return matrix + matrix.T


@pytest.mark.parametrize("size", [2100, 7])
def test_a_product_with_its_own_transpose(size):
    wide = RNG.normal(size=(size, 7))
    product = call(symmetric.NAME, lambda wide: wide @ wide.T, jnp.asarray(wide))
    np.testing.assert_allclose(product, wide @ wide.T, atol=1e-13)


def test_blocks_beside_the_diagonal_are_multiplied_once():
    product = lambda wide: call(symmetric.NAME, lambda wide: wide @ wide.T, wide)
    size = 2 * symmetric.LEAST
    count = jaxprs.multiplications(jaxprs.of(product, jnp.ones((size, 3))))
    assert count == 0.75 * size * size * 3


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("width", [1, 4])
def test_a_quadratic_form(size, width, monkeypatch):
    monkeypatch.setattr(halves, "LEAST", 2)
    matrix, array = indefinite(size), RNG.normal(size=(size, width))
    got = form_by_halves(blocks_of(jnp.asarray(matrix)), jnp.asarray(array))
    np.testing.assert_allclose(got, np.einsum("ij,ik,jk->k", matrix, array, array), atol=1e-12)


@pytest.mark.parametrize(("size", "most"), [(200, 1.0), (512, 0.625), (1024, 0.5625)])
def test_how_much_is_multiplied(size, most, monkeypatch):
    """As many as the cost of directions counts on."""
    monkeypatch.setattr(device, "on_lone_cpu", lambda *_: True)
    monkeypatch.setattr(halves, "LARGE", 1)
    operands = jnp.ones((size, size)), jnp.ones((size, 3))
    form = lambda matrix, array: form_by_halves(blocks_of(matrix), array)
    count = jaxprs.multiplications(jaxprs.of(form, *operands))
    assert count == most * size * size * 3
    assert call(f"part of a {halves.NAME}", lambda *_: 1.0, size, 3) == most
    value = jnp.sum(jax.jit(form)(*operands))
    assert value == 3.0 * size * size

"""The product of rows with a matrix, against einsum, under every transformation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from diffop.kernels import call

pytestmark = pytest.mark.usefixtures("x64")
RNG = np.random.default_rng(0)
ROWS, MATRIX = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 5))
BATCHED_ROWS, BATCHED_MATRIX = RNG.normal(size=(2, 7, 3, 4)), RNG.normal(size=(4, 7, 5))


def meant(rows, matrix, *, axis, **params):
    numbers = (((rows.ndim - 1,), (axis,)), ((), ()))
    return jax.lax.dot_general(rows, matrix, numbers, **params)


def product(rows, matrix, axis=0):
    return call("rows", meant, rows, matrix, axis=axis, precision=None, preferred_element_type=None)


def turned(rows, matrix):
    """Summed over the other axis."""
    return product(rows, matrix, axis=1)


PRODUCTS = {
    "dot": (product, lambda r, m: jnp.einsum("...k,kh->...h", r, m), (ROWS, MATRIX)),
    "turned": (turned, lambda r, m: jnp.einsum("...k,hk->...h", r, m), (ROWS, MATRIX.T)),
}


def scalar(f):
    return lambda a, b: jnp.sum(jnp.sin(f(a, b)))


TRANSFORMATIONS = {
    "value": lambda f: f,
    "jit": jax.jit,
    "jvp": lambda f: jax.jit(lambda *xs: jax.jvp(f, xs, xs)),
    "gradient": lambda f: jax.jit(jax.grad(scalar(f), argnums=(0, 1))),
    "hessian": lambda f: jax.jit(jax.hessian(scalar(f), argnums=(0, 1))),
    "reverse_over_reverse": lambda f: jax.jit(
        jax.jacrev(jax.grad(scalar(f), argnums=1), argnums=0)
    ),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_transformations(name, transformation):
    function, expected, operands = PRODUCTS[name]
    operands = tuple(map(jnp.asarray, operands))
    transform = TRANSFORMATIONS[transformation]
    got, want = transform(function)(*operands), transform(expected)(*operands)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["dot", "turned"])
@pytest.mark.parametrize("axes", [(1, None), (None, 1), (1, 1)])
def test_batching(axes, name):
    """vmap, the gradient of a vmap, and vmap of a gradient."""
    function, expected, _ = PRODUCTS[name]
    rows = jnp.asarray(ROWS if axes[0] is None else BATCHED_ROWS)
    matrix = jnp.asarray(MATRIX if axes[1] is None else BATCHED_MATRIX)
    if name == "turned":  # the axes of the product change places, that of the batch stays
        matrix = matrix.T if axes[1] is None else jnp.swapaxes(matrix, 0, 2)

    def results(function):
        mapped = jax.vmap(function, in_axes=axes)
        total = lambda r, m: jnp.sum(jnp.cos(mapped(r, m)))
        each = jax.grad(lambda r, m: jnp.sum(jnp.cos(function(r, m))), argnums=(0, 1))
        gradients = jax.grad(total, argnums=(0, 1)), jax.vmap(each, in_axes=axes)
        return jax.jit(lambda *xs: [f(*xs) for f in (mapped, *gradients)])(rows, matrix)

    for a, b in zip(
        jax.tree.leaves(results(function)), jax.tree.leaves(results(expected)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_points_and_directions_stay_one_axis_of_rows():
    """Under vmap all products, those of the gradient too, are of two-dimensional arrays."""
    points = jnp.asarray(BATCHED_ROWS[0])

    def loss(matrix):
        return jnp.sum(jax.vmap(lambda r: product(r, matrix))(points) ** 2)

    lowered = jax.jit(jax.grad(loss)).lower(jnp.asarray(MATRIX)).as_text()
    for line in lowered.splitlines():
        if "dot_general" in line:
            operands = line.split(":")[-1].split("->")[0]
            assert operands.count("tensor<") == 2
            assert all(part.count("x") == 2 for part in operands.split("tensor<")[1:]), line

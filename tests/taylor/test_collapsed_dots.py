"""Sums over directions of products of matrices that move: contractions with the directions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from ..jaxprs import named, of

pytestmark = pytest.mark.usefixtures("x64")

DIM, COUNT, ROWS, INNER = 7, 6, 5, 3
GENERATOR = np.random.default_rng(0)
Q, K = GENERATOR.normal(size=(2, 2, ROWS, INNER, DIM))
DIRECTIONS = GENERATOR.normal(size=(COUNT, DIM))
POINT = GENERATOR.normal(size=DIM)
WEIGHTS = {
    "alike": np.full(COUNT, 0.5),
    "one direction": np.eye(COUNT)[2],
    "different": np.arange(COUNT) - 1.5,
    "two sums": GENERATOR.normal(size=(2, COUNT)),
}


def scores(x, factor=1.0):
    """q kᵀ in batches: all entries move along all directions."""
    q, k = (side.astype(type(factor)) for side in (jnp.tanh(Q @ x), jnp.sin(K @ x)))
    return jnp.einsum("hid,hjd->hij", factor * q, k)


def pushed(x, weights, u=scores):
    """Σ_r w_r (v_r·∇)² u."""
    jets = do.taylor.Jets(((jnp.asarray(DIRECTIONS),), (None,)), weights=weights, top_only=True)
    return do.taylor.push(u, (x,), [jets]).derivatives[0][1]


def nested(x, weights, u=scores):
    """The same by nested autodiff."""
    second = lambda v: jax.jvp(lambda y: jax.jvp(u, (y,), (v,))[1], (x,), (v,))[1]
    each = jax.vmap(second)(jnp.asarray(DIRECTIONS))
    return jnp.tensordot(jnp.asarray(weights).astype(each.dtype), each, axes=1)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("traced", [False, True])
def test_values(name, traced):
    weights, x = WEIGHTS[name], jnp.asarray(POINT)
    if traced:
        found = jax.jit(pushed)(x, weights)
    else:
        found = jax.jit(lambda x: pushed(x, weights))(x)
    np.testing.assert_allclose(found, jax.jit(nested)(x, weights), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in WEIGHTS if name != "two sums"])
def test_no_product_for_each_direction(name):
    """No dot of two arrays with directions keeps these: that were a matrix for each of them."""
    dots = named(of(lambda x: pushed(x, WEIGHTS[name]), jnp.asarray(POINT)), "dot_general")
    both = [eqn for eqn in dots if all(COUNT in var.aval.shape for var in eqn.invars)]
    assert both
    assert all(COUNT not in eqn.outvars[0].aval.shape for eqn in both)


def test_complex_values():
    """Nothing is conjugated."""
    weights, x = WEIGHTS["different"], jnp.asarray(POINT)
    u = lambda x: scores(x, 1 - 2j)
    found = jax.jit(lambda x: pushed(x, weights, u))(x)
    np.testing.assert_allclose(found, jax.jit(lambda x: nested(x, weights, u))(x), rtol=1e-12)


def test_gradients():
    """Through the contraction, in reverse mode."""
    square = lambda f: lambda x: jnp.sum(f(x, WEIGHTS["different"]) ** 2)
    found, expected = (jax.jit(jax.grad(square(f)))(jnp.asarray(POINT)) for f in (pushed, nested))
    np.testing.assert_allclose(found, expected, rtol=1e-10)

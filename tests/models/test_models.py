"""Models of other libraries: exact, mixed and estimated derivatives beside nested autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .zoo import MODELS

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([0.5, -0.8, 1.1, 0.3, -0.6, 0.9])
OPERATORS = {"lap": do.Laplacian(), "mixed": do.Mixed({0: 2, 4: 1})}
ESTIMATE = do.Laplacian().estimate(jax.random.key(1), 2, probes="rademacher")


@jax.jit
def of_quadratic(hessian, x):
    """The same draw of the quadratic form with that Hessian: a draw is linear in the Hessian."""
    return ESTIMATE(lambda y: 0.5 * (y - x) @ hessian @ (y - x))(x)


@pytest.fixture(autouse=True)
def lenient():
    """Other libraries promote types as JAX does by default."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.parametrize("name", MODELS)
def test_beside_nested_autodiff(name, kept):
    u, x = MODELS[name](), jnp.asarray(X)

    @jax.jit
    def ours(x):
        return do.exact(OPERATORS)(u)(x), ESTIMATE(u)(x)

    @jax.jit
    def theirs(x):
        hessian = jax.jacfwd(jax.jacfwd(u))
        third = jax.jvp(lambda x: hessian(x)[0, 0], (x,), (jnp.zeros(6).at[4].set(1.0),))[1]
        return hessian(x), third

    (values, estimate), (hessian, third) = ours(x), kept(lambda: theirs(x))
    scale = np.max(np.abs(hessian))
    assert values["lap"].dtype == jnp.float64
    np.testing.assert_allclose(values["lap"], np.trace(hessian), rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(values["mixed"], third, rtol=0, atol=1e-8 * max(scale, abs(third)))
    np.testing.assert_allclose(estimate, of_quadratic(hessian, x), rtol=0, atol=1e-9 * scale)

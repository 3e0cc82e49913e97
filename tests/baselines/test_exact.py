"""Baselines against closed forms: with enough draws those that sample coordinates are exact."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do

from .. import jaxprs
from ..waves import Waves

pytestmark = pytest.mark.usefixtures("x64")

D = 4
X = np.array([0.3, -0.5, 0.8, 0.1])
WAVES = Waves(D)
VALUE, GRADIENT, HESSIAN = WAVES.derivatives(X, 2)
DIAGONAL = np.diag(HESSIAN)
C = np.arange(16.0).reshape(4, 4) / 5
SIGMA = np.arange(8.0).reshape(4, 2) / 4
KEY = jax.random.key(0)
CASES = {
    "u": (lambda: do.Identity(), VALUE),
    "partial": (lambda: do.Partial(1), GRADIENT[1]),
    "directional": (lambda: do.Directional(lambda x: x * x), GRADIENT @ (X * X)),
    "gradient": (lambda: do.Gradient(), GRADIENT),
    "gradient_sigma": (lambda: do.Gradient(jnp.asarray(SIGMA)), SIGMA.T @ GRADIENT),
    "gradient_dims": (lambda: do.Gradient(dims=(0, 2)), GRADIENT[[0, 2]]),
    "diagonal1": (lambda: do.DiagonalK(1), GRADIENT.sum()),
    "laplacian": (lambda: do.Laplacian(), DIAGONAL.sum()),
    "laplacian_dims": (lambda: do.Laplacian(dims=(0, 2)), DIAGONAL[0] + DIAGONAL[2]),
    "diagonal2": (lambda: do.DiagonalK(2), DIAGONAL.sum()),
    "second": (lambda: do.Partial(2, order=2), DIAGONAL[2]),
    "mixed": (lambda: do.Mixed({0: 1, 2: 1}), HESSIAN[0, 2]),
    "matrix": (lambda: do.SecondOrder(jnp.asarray(C)), np.sum(C * HESSIAN)),
    "diagonal_matrix": (lambda: do.SecondOrder(jnp.asarray(C[1])), C[1] @ DIAGONAL),
    "parabolic": (
        lambda: do.ParabolicTrace(jnp.asarray(SIGMA)),
        0.5 * np.trace(SIGMA.T @ HESSIAN @ SIGMA),
    ),
    "parabolic_field": (lambda: do.ParabolicTrace(lambda x: 0.4 * x), 0.08 * X**2 @ DIAGONAL),
    "sum": (
        lambda: do.Laplacian() - 2.0 * do.Partial(0) + jnp.array(0.5) * do.Identity(),
        DIAGONAL.sum() - 2 * GRADIENT[0] + 0.5 * VALUE,
    ),
    "coefficient": (
        lambda: (lambda x: jnp.exp(x[0])) * do.Laplacian(),
        np.exp(X[0]) * DIAGONAL.sum(),
    ),
    "nothing": (lambda: do.Laplacian() - do.Laplacian(), 0.0),
}
TOLERANCE = {name: 1e-13 for name in ("sdgd-loop", "sdgd", "forward-over-reverse", "jet", "hte")}
TOLERANCE["finite-differences"] = 1e-7


def operators():
    return {name: build() for name, (build, _) in CASES.items()}


@pytest.mark.parametrize("method", TOLERANCE)
def test_all_terms_are_exact(method):
    joint = do.baselines.estimate(method, operators(), KEY, 16)(WAVES)
    for name, value in jax.jit(joint)(jnp.asarray(X)).items():
        expected = CASES[name][1]
        assert value.dtype == jnp.float64 and value.shape == np.shape(expected)
        atol = TOLERANCE[method] * np.abs(HESSIAN).max()
        np.testing.assert_allclose(value, expected, rtol=TOLERANCE[method], atol=atol, err_msg=name)


SAMPLED = ("sdgd-loop", "jet", "finite-differences")


def test_the_coordinates_are_those_of_diffops_own_estimate():
    n, key = 2, jax.random.key(5)
    (jets,) = do.Laplacian().estimate(key, n).jets(jnp.asarray(X))
    drawn = np.asarray(jets.directions[0].positions)[:, 0]

    @jax.jit
    def values(x):
        estimate = do.baselines.estimate
        return {name: estimate(name, do.Laplacian(), key, n)(WAVES)(x) for name in SAMPLED}

    for name, value in values(jnp.asarray(X)).items():
        np.testing.assert_allclose(value, D / n * DIAGONAL[drawn].sum(), rtol=TOLERANCE[name])


@pytest.mark.parametrize("method", [name for name in do.baselines.names() if name != "folx"])
def test_single_precision_beside_double(method):
    """Nothing is taken in another type than that of the point."""
    u = lambda x: jnp.sum(jnp.sin(x) * x[0])
    ops = [do.Identity(), do.Partial(1), do.Gradient(), do.Laplacian(), do.ParabolicTrace(0.5)]
    x = jnp.asarray(X, jnp.float32)
    values = jax.eval_shape(do.baselines.estimate(method, ops, KEY, 2)(u), x)
    assert all(value.dtype == jnp.float32 for value in values)


@pytest.mark.parametrize("method", ["sdgd-loop", "hte", "stein"])
def test_points(method):
    points = jnp.asarray(np.stack([X, -X, X[::-1]]))
    ops = {"u": do.Identity(), "lap": do.Laplacian()}
    one = do.baselines.estimate(method, ops, KEY, 2)(WAVES)
    together = jax.jit(jax.vmap(one))(points)
    apart = [jax.jit(one)(x) for x in points]
    for name in ops:
        values = [value[name] for value in apart]
        np.testing.assert_allclose(together[name], values, rtol=1e-6)


def test_a_derivative_that_two_operators_have_is_taken_once():
    def equations(*ops):
        joint = do.baselines.estimate("jet", ops, KEY, 2)(WAVES)
        return jaxprs.count(jaxprs.of(joint, jnp.asarray(X)))["exp"]

    assert equations(do.Laplacian(), 2.0 * do.Laplacian()) == equations(do.Laplacian())
    assert equations(do.Laplacian(), do.Partial(2, 2)) > equations(do.Laplacian())

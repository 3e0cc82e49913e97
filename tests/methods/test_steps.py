"""A step of Gauss–Newton beside closed forms in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.methods.base import step_key
from diffop.streams import stream

from .least_squares import KEY, AllAtOnce, Curve, after, damped, dense, linear, start, vector

pytestmark = pytest.mark.usefixtures("x64")
SHAPES = [(30, 12), (12, 30), (12, 12)]
DENSE = pytest.mark.parametrize("dense_solver", [do.methods.Cholesky, do.methods.QR])


@DENSE
@pytest.mark.parametrize("shape", SHAPES)
def test_an_undamped_step_solves_a_linear_problem(shape, dense_solver):
    """The nearest one of the solutions, where there are several."""
    loss, theta = linear(*shape)
    method = do.methods.GaussNewton(damping=0.0, solver=dense_solver())
    expected = theta - np.linalg.lstsq(loss.matrix, loss.matrix @ theta - loss.right)[0]
    np.testing.assert_allclose(after(loss, theta, method).model, expected, rtol=1e-9, atol=1e-9)


@DENSE
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("chunk", [None, 5])
def test_a_damped_step(shape, chunk, dense_solver):
    loss, theta = linear(*shape)
    method = do.methods.GaussNewton(damping=0.1, halvings=0, solver=dense_solver(chunk=chunk))
    r, J = np.asarray(loss.matrix @ theta - loss.right), np.asarray(loss.matrix)
    expected = theta - damped(r, J, np.zeros(theta.size), 0.1)
    np.testing.assert_allclose(after(loss, theta, method).model, expected, rtol=1e-10)


@pytest.mark.parametrize("adaptive", [False, True])
def test_sizes_by_a_schedule(adaptive):
    """Of a linear problem a step of size s leaves 1 − s of what can be solved, and damping follows
    what the linear model says of that size.
    """
    loss, theta = linear(12, 30)
    sizes = [1 / 2, 1 / 4, 1 / 8]
    method = do.methods.GaussNewton(
        1e-14, adaptive=adaptive, learning_rate=lambda index: jnp.asarray(sizes)[index]
    )
    r = np.asarray(loss.matrix @ theta - loss.right)
    left = np.cumprod([1.0, *(1 - size for size in sizes)])
    result = after(loss, theta, method, 3)
    np.testing.assert_allclose(result.losses, left[:3] ** 2 * (r @ r), rtol=1e-9)
    whole = after(loss, theta, do.methods.GaussNewton(1e-14)).model - theta
    np.testing.assert_allclose(result.model - theta, (1 - left[3]) * whole, rtol=1e-6)


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.5, np.nan])
def test_rates_that_are_none(rate):
    with pytest.raises(ValueError, match=r"a learning rate above 0 and at most 1, or a schedule"):
        do.methods.GaussNewton(learning_rate=rate)


@pytest.mark.parametrize("shape", SHAPES)
def test_conjugate_gradients_solve_the_same_equations(shape):
    """Their damping is relative to an estimate, which is that of one vector of signs."""
    loss, theta = linear(*shape)
    solver = do.methods.ConjugateGradients(200, tolerance=1e-14)
    r, J = np.asarray(loss.matrix @ theta - loss.right), np.asarray(loss.matrix)
    undamped = do.methods.GaussNewton(damping=0.0, solver=solver)
    expected = theta - np.linalg.lstsq(J, r)[0]
    np.testing.assert_allclose(after(loss, theta, undamped).model, expected, atol=1e-6)

    key = stream(KEY, "solver", 0)
    estimate = np.mean((J @ jax.random.rademacher(key, theta.shape, theta.dtype)) ** 2)
    method = do.methods.GaussNewton(damping=0.1, halvings=0, solver=solver)
    expected = theta - damped(r, J, np.zeros(theta.size), 0.1 * estimate / np.mean(np.sum(J**2, 1)))
    np.testing.assert_allclose(after(loss, theta, method).model, expected, rtol=1e-8)


@pytest.mark.parametrize("loss", [Curve(), AllAtOnce(Curve())], ids=["points", "all at once"])
@pytest.mark.parametrize("chunk", [None, 3])
def test_steps_of_a_residual_with_terms(loss, chunk):
    """A residual that is not linear, whose damping is relative; the losses are those before."""
    method = do.methods.GaussNewton(
        damping=1e-3, halvings=0, solver=do.methods.Cholesky(chunk=chunk)
    )
    result, theta, losses = after(loss, start(), method, 3), vector(start()), []
    for index in range(3):
        residuals, jacobian = dense(Curve(), KEY, index)
        r, J = np.asarray(residuals(theta)), np.asarray(jacobian(theta))
        losses.append(r @ r)
        theta = theta - damped(r, J, np.zeros(3), 1e-3)
    np.testing.assert_allclose(vector(result.model), theta, rtol=1e-9)
    np.testing.assert_allclose(result.losses, losses, rtol=1e-9)


@pytest.mark.parametrize(
    "solver", [do.methods.Cholesky(), do.methods.QR(), do.methods.ConjugateGradients(50, 1e-15)]
)
def test_momentum_keeps_what_the_new_points_do_not_see(solver):
    """SPRING as its paper has it: φ = Jᵀ(J Jᵀ + λ)⁻¹(r − μ J φ') + μ φ', of fewer residuals than
    parameters; without damping, μ φ' projected on the null space of J, and the step of J.
    """
    rng = np.random.default_rng(1)
    matrices, rights = rng.normal(size=(3, 4, 9)), rng.normal(size=(3, 4))
    theta, last = rng.normal(size=9), np.zeros(9)

    class Rows:
        def residuals(self, model, key):
            which = sum(
                jnp.where(jax.random.uniform(key) == each, index, 0)
                for index, each in enumerate(draws)
            )
            return jnp.asarray(matrices)[which] @ model - jnp.asarray(rights)[which]

    draws = [float(jax.random.uniform(step_key(KEY, index))) for index in range(3)]
    method = do.methods.GaussNewton(damping=0.0, momentum=0.7, halvings=0, solver=solver)
    result = after(Rows(), jnp.asarray(theta), method, 3)
    for J, b in zip(matrices, rights, strict=True):
        seen = np.linalg.pinv(J)
        last = seen @ (J @ theta - b) + 0.7 * (last - seen @ J @ last)
        theta = theta - last
    np.testing.assert_allclose(result.model, theta, rtol=1e-7)


def test_momentum_with_damping_is_that_of_its_paper():
    method = do.methods.GaussNewton(damping=0.2, momentum=0.5, halvings=0)
    result, theta, last = after(Curve(), start(), method, 4), vector(start()), np.zeros(3)
    for index in range(4):
        residuals, jacobian = dense(Curve(), KEY, index)
        r, J = np.asarray(residuals(theta)), np.asarray(jacobian(theta))
        kernel = J @ J.T + 0.2 * np.sum(J**2) / len(J) * np.eye(len(J))
        last = J.T @ np.linalg.solve(kernel, r - 0.5 * J @ last) + 0.5 * last
        theta = theta - last
    np.testing.assert_allclose(vector(result.model), theta, rtol=1e-9)


def test_a_complex_residual_is_its_two_parts():
    class Complex:
        def residuals(self, theta, key):
            value = jax.lax.complex(theta[1] * jnp.cos(theta[0]), theta[1] * jnp.sin(theta[0]))
            return value - (0.3 + 0.4j)

    class Parts:
        def residuals(self, theta, key):
            real = theta[1] * jnp.cos(theta[0]) - 0.3
            return [real, theta[1] * jnp.sin(theta[0]) - 0.4]

    method = do.methods.GaussNewton()
    one, two = (after(loss, jnp.ones(2), method, 6) for loss in (Complex(), Parts()))
    np.testing.assert_allclose(one.model, two.model, rtol=1e-12)
    np.testing.assert_allclose(one.model, [np.arctan2(4, 3), 0.5], rtol=1e-12)
    np.testing.assert_allclose(one.losses, two.losses, rtol=1e-10, atol=1e-25)


SOLVERS = [do.methods.Cholesky(), do.methods.QR(), do.methods.ConjugateGradients(50, 1e-15)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
@pytest.mark.parametrize("count", [1, 20], ids=["few residuals", "many residuals"])
def test_a_step_along_a_curve(solver, count):
    """θ − d − a/2 with (JᵀJ + λ) a = Jᵀ r'' and r'' = Σ_ij d_i d_j ∂_i ∂_j r."""
    loss = Curve(count)
    method = do.methods.GaussNewton(
        damping=0.3, adaptive=True, halvings=0, acceleration=True, solver=solver
    )
    residuals, jacobian = dense(loss, KEY, 0)
    theta, shift = vector(start()), 0.3
    r, J = np.asarray(residuals(theta)), np.asarray(jacobian(theta))
    if isinstance(solver, do.methods.ConjugateGradients):
        key = stream(KEY, "solver", 0)
        signs = jax.random.rademacher(key, theta.shape, theta.dtype)
        shift *= np.mean((J @ signs) ** 2) / np.mean(np.sum(J**2, 1))
    d = damped(r, J, np.zeros(3), shift)
    second = jax.jacfwd(jax.jacfwd(residuals))(theta) @ d @ d
    expected = theta - d - damped(second, J, np.zeros(3), shift) / 2
    result = after(loss, start(), method)
    np.testing.assert_allclose(vector(result.model), expected, rtol=1e-8)
    assert np.abs(expected - theta + d).max() > 1e-6

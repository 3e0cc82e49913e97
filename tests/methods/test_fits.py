"""Whole fits by methods that know more than a gradient: what they reach, errors, checkpoints."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import diffop as do
from diffop.methods.base import step_key

from ..refused import refusals
from .least_squares import KEY, AllAtOnce, Curve, after, linear, start, vector

pytestmark = pytest.mark.usefixtures("x64")
METHODS = {
    "gauss-newton": do.methods.GaussNewton(),
    "spring": do.methods.GaussNewton(momentum=0.5),
    "levenberg-marquardt": do.methods.GaussNewton(
        damping=1e-3, adaptive=True, solver=do.methods.QR()
    ),
    "matrix-free": do.methods.GaussNewton(solver=do.methods.ConjugateGradients(20)),
    "l-bfgs": do.methods.LBFGS(),
}


class Poisson(eqx.Module):
    """Δu = f on a square with u given on its sides, by Δ itself or by one of its two terms."""

    n: int | None = eqx.field(static=True, default=None)

    def __call__(self, u, key):
        return sum(jnp.sum(each(u) ** 2) for each in self.pointwise(u, key).values())

    def pointwise(self, u, key):
        points_key, jets_key = jax.random.split(key)
        laplacian = do.Laplacian()

        def inside(u, x):
            if self.n is None:
                applied = laplacian.exact(u)
            else:
                applied = laplacian.estimate(jets_key, self.n)(u)
            return (applied(x) - laplacian.exact(self.solution)(x)) / 200**0.5

        points = jax.random.uniform(points_key, (300, 2), minval=-1, maxval=1)
        inner, ends = jnp.split(points, [200])
        ends = jnp.where(jnp.abs(ends) == jnp.max(jnp.abs(ends), 1)[:, None], jnp.sign(ends), ends)
        return {
            "residual": do.losses.Pointwise(inside, inner),
            "data": do.losses.Pointwise(lambda u, x: u(x) - self.solution(x), ends),
        }

    @staticmethod
    def solution(x):
        return jnp.sin(2 * x[0]) + 0.3 * x[1] ** 2


def network():
    return eqx.nn.MLP(2, "scalar", 12, 2, jnp.tanh, key=jax.random.key(3))


def error(model):
    points = jax.random.uniform(jax.random.key(9), (200, 2), minval=-1, maxval=1)
    values, truth = (jax.jit(jax.vmap(u))(points) for u in (model, Poisson.solution))
    return float(jnp.linalg.norm(values - truth) / jnp.linalg.norm(truth))


def test_a_network_solves_an_equation():
    result = after(Poisson(), network(), do.methods.GaussNewton(damping=1e-8), 60)
    assert error(result.model) < 1e-4
    adam = after(Poisson(), network(), optax.adam(1e-2), 60)
    assert error(adam.model) > 1e-1
    # the losses are those of the loss itself
    np.testing.assert_allclose(result.losses[0], adam.losses[0], rtol=1e-12)


def test_a_step_has_one_draw():
    """The derivatives are those of the residual that the step's key draws."""
    loss, model = Poisson(n=1), network()
    key = step_key(KEY, 0)
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    theta, unravel = jax.flatten_util.ravel_pytree(parameters)

    def drawn(theta):
        values = loss.pointwise(model, key)
        return jnp.concatenate(
            [each(eqx.combine(unravel(theta), static)) for each in values.values()]
        )

    r, J = np.asarray(jax.jit(drawn)(theta)), np.asarray(jax.jit(jax.jacrev(drawn))(theta))
    kernel = J @ J.T + 1e-3 * np.trace(J @ J.T) / len(J) * np.eye(len(J))
    expected = theta - J.T @ np.linalg.solve(kernel, r)
    result = after(loss, model, do.methods.GaussNewton(damping=1e-3, halvings=0))
    np.testing.assert_allclose(vector(eqx.filter(result.model, eqx.is_array)), expected, rtol=1e-8)


def test_random_jets_leave_a_floor_of_noise():
    """One of the two coordinates at each step: where exact operators reach four digits more."""
    method = do.methods.GaussNewton(damping=1e-8)
    exact, drawn = (after(Poisson(n), network(), method, 60).model for n in (None, 1))
    assert error(drawn) > 1e2 * error(exact)


@pytest.mark.parametrize("name", METHODS)
def test_a_fit_that_goes_on_is_the_same_bit_for_bit(name, tmp_path):
    loss = Poisson()
    given = {"steps": 6, "steps_per_dispatch": 2}
    whole = after(loss, network(), METHODS[name], **given)
    states = do.train.iterate(network(), loss, METHODS[name], key=KEY, **given)
    checkpoints = do.train.Checkpoints(tmp_path, every=2)
    checkpoints.save(next(states))
    result = after(loss, network(), METHODS[name], checkpoints=checkpoints, **given)
    np.testing.assert_array_equal(result.losses, whole.losses)
    for leaf, expected in zip(*map(jax.tree.leaves, (result.model, whole.model)), strict=True):
        if eqx.is_array(leaf):
            np.testing.assert_array_equal(leaf, expected)


def test_lbfgs_stays_on_the_points_of_the_first_step():
    """It ends at the least squares of these points."""

    def loss(theta, key):
        x = jax.random.uniform(key, (30,))
        return jnp.mean((theta[0] + theta[1] * x - jnp.exp(x)) ** 2)

    result = after(loss, jnp.zeros(2), do.methods.LBFGS(), 20)
    x = np.asarray(jax.random.uniform(step_key(KEY, 0), (30,)))
    expected = np.linalg.lstsq(np.stack([np.ones(30), x], 1), np.exp(x))[0]
    np.testing.assert_allclose(result.model, expected, rtol=1e-6)
    assert (np.diff(result.losses) <= 1e-12).all()


def test_single_precision():
    """What Cholesky factors reach in it, and orthogonal ones."""
    with jax.enable_x64(False):
        net = jax.tree.map(
            lambda leaf: leaf.astype(jnp.float32) if eqx.is_array(leaf) else leaf, network()
        )
        small = do.methods.GaussNewton(damping=1e-9, solver=do.methods.QR())
        results = [after(Poisson(), net, each, 60) for each in (do.methods.GaussNewton(), small)]
        assert all(result.losses.dtype == np.float32 for result in results)
        assert error(results[0].model) < 1e-2
        assert error(results[1].model) < 1e-4
        with pytest.raises(
            do.train.NonFiniteLossError,
            match="became nan at step .*; more damping, or double precision, usually helps.",
        ):
            after(Poisson(), net, do.methods.GaussNewton(damping=0.0), 60)


def test_parameters_of_another_precision_than_the_points():
    loss, theta = linear(5, 8)

    class Wider:
        def residuals(self, theta, key):
            return loss.residuals(theta.astype(jnp.float64), key)

    result = after(Wider(), theta.astype(jnp.float32), do.methods.GaussNewton())
    assert result.model.dtype == result.losses.dtype == np.float32
    missed = loss.matrix @ np.asarray(result.model, np.float64) - loss.right
    np.testing.assert_allclose(missed, 0.0, atol=1e-2)


def test_terms_that_are_not_finite_are_named():
    class Bad(Curve):
        def pointwise(self, model, key):
            residuals = super().pointwise(model, key)
            points = jnp.full(3, jnp.nan)
            return residuals | {"data": residuals["data"]._replace(points=points)}

    for loss in (Bad(), AllAtOnce(Bad())):
        with pytest.raises(
            do.train.NonFiniteLossError, match=r"at step 1 of 1 \(its terms: data nan, residual 0\."
        ) as caught:
            after(loss, start(), do.methods.GaussNewton())
        assert caught.value.terms == ("data",)


test_settings_that_make_no_sense = refusals(
    {
        "a finite damping of at least 0, got -1.0; 1e-10 is": lambda: do.methods.GaussNewton(-1.0),
        "a finite damping of at least 0, got inf": lambda: do.methods.GaussNewton(np.inf),
        "at least 0 and less than 1, got 1.0; 0 is": lambda: do.methods.GaussNewton(momentum=1.0),
        "expects adaptive=True with acceleration, whose steps are not made where they be": lambda: (
            do.methods.GaussNewton(acceleration=True)
        ),
        "halvings of GaussNewton must be at least 0; got -1": lambda: do.methods.GaussNewton(
            halvings=-1
        ),
        "chunk of Cholesky, .* must be at least 1; got 0": lambda: do.methods.Cholesky(0),
        "most of QR must be at least 1; got 0": lambda: do.methods.QR(most=0),
        "iterations of .* must be at least 1; got 0": lambda: do.methods.ConjugateGradients(0),
        "a tolerance of at least 0, got -1.0": lambda: do.methods.ConjugateGradients(
            tolerance=-1.0
        ),
        "the history of LBFGS must be at least 1; got 0": lambda: do.methods.LBFGS(0),
        "GaussNewton expects real parameters, got complex ones": lambda: do.train.State.initial(
            jnp.ones(2, complex), do.methods.GaussNewton()
        ),
    },
    {
        r"GaussNewton expects a loss that says what it is the sum of squares of, by a method "
        r"residuals\(model, key\), got <function .*; give it one, or take an optimiser from "
        "optax": lambda: after(lambda x, key: x @ x, jnp.ones(2), do.methods.GaussNewton())
    },
)


@pytest.mark.parametrize("solver", [do.methods.Cholesky(), do.methods.QR()])
def test_half_precision_is_not_factorised(solver):
    class Halves:
        def residuals(self, theta, key):
            return theta.astype(float) - jnp.arange(3.0)

    message = "expects parameters in single or double precision, .* got bfloat16; convert them, or"
    with pytest.raises(TypeError, match=message):
        after(Halves(), jnp.ones(3, jnp.bfloat16), do.methods.GaussNewton(1e-3, solver=solver))


def test_a_solver_that_does_not_solve_again():
    class Steepest(do.methods.AbstractSolver):
        def solve(self, residuals, prior, damping, key):
            values, pull = jax.vjp(residuals, residuals.theta)
            return values, do.methods.Solution(1e-3 * pull(values)[0], values)

    method = do.methods.GaussNewton(adaptive=True, solver=Steepest())
    after(Curve(), start(), method)
    with pytest.raises(
        TypeError,
        match=r"GaussNewton expects a solver whose solutions have `again`, for its acceleration, "
        r"got .*Steepest\(\); give them one, or leave acceleration out.",
    ):
        method = do.methods.GaussNewton(adaptive=True, solver=Steepest(), acceleration=True)
        after(Curve(), start(), method)


@pytest.mark.parametrize("solver", [do.methods.Cholesky(most=4), do.methods.QR(most=4)])
def test_too_many_residuals_for_a_matrix(solver):
    loss, theta = linear(5, 8)
    with pytest.raises(
        ValueError,
        match=r"expects at most 4 residuals or parameters, .* got 5 residuals and 8 parameters; "
        r"take fewer points, or solver=diffop.methods.ConjugateGradients\(\), which forms "
        "no matrix",
    ):
        after(loss, theta, do.methods.GaussNewton(solver=solver))


@pytest.mark.parametrize(
    ("method", "within"),
    [(do.methods.LBFGS(), 1e-12), (optax.sgd(0.1), 1e-12), (optax.adam(0.1), 1e-4)],
)
def test_complex_parameters(method, within):
    """|z − (1 + 2i)|² has one minimum; JAX's gradient is the conjugate of the way up."""
    loss = lambda z, key: jnp.sum(jnp.abs(z - (1 + 2j)) ** 2)
    key = jax.random.key(0)
    fit = do.train.fit(jnp.array([1.0, 0.0], jnp.complex128), loss, method, 400, key=key)
    np.testing.assert_allclose(fit.model, [1 + 2j] * 2, rtol=within)


class Scaled(eqx.Module):
    """Residuals of any size, of two parameters."""

    size: jax.Array

    def residuals(self, model, key):
        x = jnp.linspace(0, 1, 20)
        return self.size * (model[0] * jnp.exp(model[1] * x) - 2 * jnp.exp(-x)) / 20**0.5


SOLVERS = [do.methods.Cholesky(), do.methods.QR(), do.methods.ConjugateGradients()]


@pytest.mark.parametrize("size", [1e-12, 1e-4, 1e7, 1e12])
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_steps_do_not_depend_on_the_unit_of_the_loss(solver, size):
    """In single precision, whose largest number is 3e38."""
    with jax.enable_x64(False):
        one, other = (
            do.train.fit(
                jnp.ones(2),
                Scaled(jnp.array(each)),
                do.methods.GaussNewton(solver=solver),
                4,
                key=KEY,
            )
            for each in (1.0, size)
        )
    np.testing.assert_allclose(other.model, one.model, rtol=1e-4)
    np.testing.assert_allclose(one.model, [2.0, -1.0], rtol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_a_loss_that_does_not_change_moves_nothing(solver):
    class Constant:
        def residuals(self, model, key):
            return jnp.array([1.0, 2.0]) + 0 * model

    fit = do.train.fit(jnp.ones(2), Constant(), do.methods.GaussNewton(solver=solver), 3, key=KEY)
    np.testing.assert_array_equal(fit.losses, [5.0] * 3)
    np.testing.assert_array_equal(fit.model, [1.0, 1.0])


def test_layers_that_see_complex_numbers():
    """Point by point, where Cholesky takes factors of real layers, and all at once."""
    x = jax.random.normal(KEY, (5, 40))

    def residual(model, x):
        return jnp.sum(jnp.cos(jnp.exp(1j * x) @ model["W"]))

    class AtPoints:
        def pointwise(self, model, key):
            return {"a": do.losses.Pointwise(residual, x)}

    class Together:
        def residuals(self, model, key):
            return jax.vmap(lambda each: residual(model, each))(x)

    model = {"W": jax.random.normal(KEY, (40, 40)) / 40}
    with jax.numpy_dtype_promotion("standard"):  # a product of complex and real arrays
        found = [
            do.train.fit(model, loss, do.methods.GaussNewton(), 4, key=KEY).losses
            for loss in (AtPoints(), Together())
        ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_parameters_of_fewer_digits_than_the_loss():
    loss = lambda model, key: jnp.sum((model.astype(jnp.float64) - 2) ** 2)
    fit = do.train.fit(jnp.ones(2, jnp.float32), loss, do.methods.LBFGS(), 5, key=KEY)
    assert fit.model.dtype == jnp.float32
    np.testing.assert_allclose(fit.model, 2.0, rtol=1e-6)


@pytest.mark.parametrize("method", [do.methods.GaussNewton(), do.methods.LBFGS()])
def test_a_mesh_of_several_devices(method):
    mesh = jax.make_mesh((2,), ("data",))
    with pytest.raises(
        ValueError, match="makes its steps on one device, got a mesh of 2; leave the mesh out"
    ):
        after(Curve(), start(), method, mesh=mesh)

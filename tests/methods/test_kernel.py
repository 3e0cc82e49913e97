"""The kernel by layers beside J Jᵀ, whose J is nested `jax.jacfwd` in float64."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.least_squares.kernel import kernel, planned
from diffop.least_squares.vector import Residuals

from .. import jaxprs
from .least_squares import AllAtOnce

pytestmark = pytest.mark.usefixtures("x64")
DIM, KEY = 3, jax.random.key(0)


class Net(eqx.Module):
    """A tanh network whose second matrix can be used `again`, or that has another activation."""

    layers: list
    again: str = eqx.field(static=True)

    def __init__(self, again="no", width=7):
        keys = jax.random.split(KEY, 3)
        sizes = (DIM, width, width, 1)
        pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
        self.layers = [eqx.nn.Linear(a, b, key=key) for a, b, key in pairs]
        self.again = again

    def __call__(self, x):
        first, second, last = self.layers
        f = getattr(jax.nn, self.again, jnp.tanh)  # some have rules of their own
        z = f(second(f(first(x))))
        if self.again == "transposed":
            z = z + jnp.tanh(second.weight.T @ z)
        if self.again == "as it is":
            z = z + jnp.tanh(jax.lax.transpose_p.bind(second.weight, permutation=(0, 1)) @ z)
        if self.again == "transformed":
            z = z * jnp.sum(second.weight**2)
        if self.again == "rows":
            z = z + jnp.sum(jnp.tanh(jnp.outer(jnp.cos(z), z) @ second.weight.T), axis=0)
        return last(z)[0]


def by_laplacian(u, x):
    return do.Laplacian().exact(u)(x) - u(x) ** 2


def by_draws(u, x):
    return do.Laplacian().estimate(jax.random.key(3), 2, "rademacher")(u)(x)


def by_gradient(u, x):
    return jax.grad(u)(x) * x


def by_hessian(u, x):
    return {"trace": jnp.trace(jax.hessian(u)(x)), "value": u(x)}


def by_loop(u, x):
    return jax.lax.fori_loop(0, 2, lambda _, y: u(jnp.full(DIM, y)), x[0])


def of_complex_numbers(u, x):
    return jax.lax.complex(u(x), u(2 * x))


class Terms(eqx.Module):
    """A residual inside, and data."""

    residual: object = eqx.field(static=True)
    count: int = 5
    of_data: object = eqx.field(static=True, default=lambda u: u)

    def pointwise(self, u, key):
        points = jax.random.normal(key, (self.count, DIM))
        return {
            "inside": do.losses.Pointwise(self.residual, points),
            "data": do.losses.Pointwise(
                lambda u, x: self.of_data(u)(x) - 1, jax.random.normal(key, (4, DIM))
            ),
        }


def residuals_of(loss, net):
    parameters, static = eqx.partition(net, eqx.is_inexact_array)
    return Residuals(loss, parameters, static, KEY)


CASES = {
    "value": (lambda u, x: u(x), "no"),
    "Laplacian": (by_laplacian, "no"),
    "estimate": (by_draws, "no"),
    "gradient": (by_gradient, "no"),
    "Hessian": (by_hessian, "no"),
    "complex": (of_complex_numbers, "no"),
    "softplus": (by_laplacian, "softplus"),
    "silu": (by_draws, "silu"),
    "transposed": (by_laplacian, "transposed"),
    "as it is": (by_laplacian, "as it is"),
    "transformed": (by_laplacian, "transformed"),
    "rows": (by_draws, "rows"),
}
SECOND = 2  # of the parameter arrays, the matrix of the second layer


def values_and_derivatives(residuals):
    of = lambda theta: (residuals(theta), jax.jacfwd(residuals)(theta))
    return jax.device_get(jax.jit(of)(residuals.theta))


def check(residuals, plan, chunk=None, expected=None):
    """The kernel by layers is the product of the derivatives."""
    expected, J = expected or values_and_derivatives(residuals)
    values, found = jax.jit(lambda: kernel(residuals, plan, chunk))()
    np.testing.assert_allclose(values, expected, rtol=1e-13)
    np.testing.assert_allclose(found, J @ J.T, rtol=0, atol=1e-13 * np.max(np.abs(J @ J.T)))


@functools.cache
def with_derivatives(name):
    residual, again = CASES[name]
    residuals = residuals_of(Terms(residual), Net(again))
    return residuals, values_and_derivatives(residuals)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chunk", [None, 2])
def test_is_the_product_of_the_derivatives(name, chunk):
    again = CASES[name][1]
    residuals, expected = with_derivatives(name)
    plan = planned(residuals, gain=0.0)
    assert plan is not None
    assert (SECOND in plan.factored) == (again != "transformed")
    check(residuals, plan, chunk, expected)


def test_terms_without_points():
    """They have no rows."""
    residuals = residuals_of(Terms(by_draws, count=0), Net())
    plan = planned(residuals, gain=0.0)
    assert plan is not None and residuals.rows == 4
    check(residuals, plan)


class Pair(eqx.Module):
    """Two networks of matrices alone."""

    first: eqx.nn.MLP
    second: eqx.nn.MLP

    def __init__(self):
        self.first, self.second = (
            eqx.nn.MLP(DIM, "scalar", 7, 2, jnp.tanh, use_bias=False, use_final_bias=False, key=key)
            for key in jax.random.split(KEY)
        )


def test_terms_of_parts_of_the_parameters():
    """No rows go through layers that a term does not have."""
    terms = Terms(lambda pair, x: pair.first(x) * pair.second(x), of_data=lambda pair: pair.first)
    residuals = residuals_of(terms, Pair())
    plan = planned(residuals, gain=0.0)
    assert plan is not None and plan.factored == set(range(6))
    check(residuals, plan)


def test_products_of_rows_in_parts(monkeypatch):
    """With room for those of two points at once."""
    monkeypatch.setattr("diffop.least_squares.kernel._ROOM", 100)
    residuals = residuals_of(Terms(by_draws), Net())
    plan = planned(residuals, gain=0.0)
    assert plan is not None
    check(residuals, plan)


@pytest.mark.parametrize("loss", [Terms(by_loop), AllAtOnce(Terms(by_draws))])
def test_where_factors_are_not_known_there_is_no_plan(loss):
    assert planned(residuals_of(loss, Net()), gain=0.0) is None


def test_factors_are_for_wide_layers_that_few_jets_go_through():
    assert planned(residuals_of(Terms(by_draws), Net())) is None
    assert planned(residuals_of(Terms(by_laplacian), Net(width=64))) is None
    plan = planned(residuals_of(Terms(CASES["value"][0]), Net(width=64)))
    assert plan is not None and plan.factored == {SECOND}


def after(solver, net, steps=3):
    method = do.methods.GaussNewton(
        1e-2, adaptive=True, momentum=0.5, acceleration=True, solver=solver
    )
    return do.train.fit(net, Terms(lambda u, x: u(x) ** 2), method, steps, key=KEY)


def test_steps_are_those_with_the_derivatives():
    """QR has them all in a matrix."""
    found, expected = (after(s, Net(width=64)) for s in (do.methods.Cholesky(), do.methods.QR()))
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-6)
    for pair in zip(*map(jax.tree.leaves, (found.model, expected.model)), strict=True):
        np.testing.assert_allclose(*pair, rtol=1e-6, atol=1e-9)


def test_no_gradient_of_a_residual_by_a_wide_layer_is_formed():
    """No array has an entry for each residual and each weight."""
    net = Net(width=64)
    parameters, static = eqx.partition(net, eqx.is_inexact_array)

    def step(parameters):
        residuals = Residuals(Terms(CASES["value"][0]), parameters, static, KEY)
        prior = jnp.zeros_like(residuals.theta)
        return do.methods.Cholesky().solve(residuals, prior, jnp.array(1e-3), KEY)[1].direction

    weights = residuals_of(Terms(by_draws), net).theta.size
    assert weights <= max(jaxprs.sizes(jaxprs.of(step, parameters))) < 2 * weights

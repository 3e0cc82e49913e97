"""The gradient of a residual by the point, by reverse mode: beside nested autodiff, and its squares
by enumeration of all draws.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from diffop.losses.residual import with_gradient

from .. import compiling, nested
from ..problems import KINDS
from ..train.toy import Frozen

pytestmark = pytest.mark.usefixtures("x64")

DIM = 3
KEY = jax.random.key(0)


def allen_cahn():
    return Frozen(do.pde.ManyBody("allen-cahn", 2, DIM, key=jax.random.key(0)))


def u(x):
    return jnp.sin(3.0 * x[0] + x[1] * x[2]) * jnp.exp(0.3 * x[2])


@pytest.mark.once("the arithmetic of the test that follows, for every kind of operators")
@pytest.mark.parametrize("name", KINDS)
def test_of_problems(name):
    """The loss is that of all components by jets, which are tested beside nested jvp."""
    dim = min(8, do.pde.recommended(name).dim)
    problem = do.pde.make(name, dim=dim, key=jax.random.key(0))
    sizes = problem.inputs or problem.dim, problem.outputs, 5, 1
    net = eqx.nn.MLP(*sizes, activation=jnp.tanh, key=jax.random.key(1))

    @eqx.filter_jit
    def losses(problem, u):
        def of(terms):
            loss = do.losses.ResidualLoss(problem, 2, probes="exact", gpinn=0.7, gpinn_terms=terms)
            return loss.terms(u, jax.random.key(2))["gpinn"]

        return of(None), of(problem.dim)

    np.testing.assert_allclose(*losses(problem, problem.ansatz(net)), rtol=1e-9)


def test_beside_nested_autodiff():
    problem = allen_cahn()
    loss = do.losses.ResidualLoss(problem, 4, probes="exact", gpinn=0.3)

    @jax.jit
    def both():
        slope = jax.vmap(jax.grad(nested.allen_cahn(problem, u)))(problem.sample(None, 4))
        return loss.terms(u, jax.random.key(0))["gpinn"], 0.3 * jnp.sum(slope**2) / 4

    np.testing.assert_allclose(*both(), rtol=1e-12)


def test_of_several_and_complex_numbers():
    f = lambda x: {
        "a": jax.lax.complex(jnp.sin(x[0]), x[1] ** 3),
        "b": jnp.stack([x[0] ** 2, x[1] * x[2]]),
    }
    x = jnp.array([0.3, -0.7, 1.1])
    found, value, expected = jax.jit(lambda x: (with_gradient(f)(x), f(x), jax.jacfwd(f)(x)))(x)
    np.testing.assert_allclose(found.value["a"], value["a"], rtol=1e-14)
    np.testing.assert_allclose(found.gradient["a"], expected["a"], rtol=1e-13)
    np.testing.assert_allclose(found.gradient["b"], expected["b"].T, rtol=1e-13)


@pytest.fixture(scope="module")
def by_coordinates():
    """By square and number of draws, the loss and its bias for each choice of coordinates that the
    draws of a call can be, and the exact loss: one program.

    Without replacement n of d coordinates are all subsets alike.
    """
    problem = allen_cahn()
    losses = {
        (square, n): do.losses.ResidualLoss(problem, 2, n, "sparse", gpinn=0.3, square=square)
        for square, n in (("pairs", 2), ("product", 1), ("biased", 1), ("biased", 2))
    }
    exact = do.losses.ResidualLoss(problem, 2, probes="exact", gpinn=0.3)

    def of(loss, key):
        bias = loss.bias(u, key) if loss.n == 2 else jnp.zeros(())
        return jnp.stack([loss(u, key), bias])

    @jax.jit
    def every(keys):
        each = {name: jax.vmap(lambda key: of(loss, key))(keys) for name, loss in losses.items()}
        return each, exact(u, keys[0])

    with compiling.quickly():
        found, expected = every(jax.random.split(jax.random.key(0), 400))
    return {name: np.unique(np.round(each, 9), axis=0).T for name, each in found.items()}, expected


def test_pairs_are_unbiased(by_coordinates):
    """Two coordinates of three: three subsets, equally likely."""
    found, exact = by_coordinates[0]["pairs", 2][0], by_coordinates[1]
    assert found.size == 3
    np.testing.assert_allclose(found.mean(), exact, rtol=1e-8)


def test_products_are_unbiased(by_coordinates):
    """One coordinate of three, twice: R_a R_b, where a ≠ b occurs twice."""
    by_draws, exact = by_coordinates
    found, single = by_draws["product", 1][0], by_draws["biased", 1][0]
    assert (found.size, single.size) == (6, 3)
    equal = [value for value in found if np.isclose(single, value, rtol=1e-8).any()]
    assert len(equal) == 3
    np.testing.assert_allclose((2 * found.sum() - np.sum(equal)) / 9, exact, rtol=1e-8)
    assert single.mean() > 1.01 * exact


def test_bias(by_coordinates):
    """The mean of the biased loss has the mean of its bias too much."""
    (losses, biases), exact = by_coordinates[0]["biased", 2], by_coordinates[1]
    assert losses.size == 3
    np.testing.assert_allclose(losses.mean() - biases.mean(), exact, rtol=1e-8)


def test_one_residual_has_one_reverse_pass():
    """No array of points × dimensions × dimensions, and as many equations in any dimension."""

    def shapes(dim):
        problem = do.pde.ManyBody("allen-cahn", 2, dim, key=jax.random.key(0))
        net = eqx.nn.MLP(dim, "scalar", 7, 2, activation=jnp.tanh, key=jax.random.key(1))
        loss = do.losses.ResidualLoss(problem, 5, 3, "sparse", gpinn=1.0)
        return str(jax.make_jaxpr(lambda key: loss(problem.ansatz(net), key))(jax.random.key(0)))

    program = shapes(53)
    assert "53,53" not in program
    assert program.count("\n") == shapes(101).count("\n")


def test_a_pinn_has_it_too():
    equation = do.equations.Equation.linear(do.Laplacian(), source=lambda x: jnp.sin(x[0]))
    pinn = do.nn.PINN(u, equation)
    points = jax.random.normal(jax.random.key(0), (4, DIM))
    of = lambda x: nested.laplacian(u)(x) - jnp.sin(x[0])

    @jax.jit
    def both():
        value, gradient = jax.vmap(jax.value_and_grad(of))(points)
        return pinn.loss(points, gpinn=0.5), jnp.mean(value**2 + 0.5 * jnp.sum(gradient**2, axis=1))

    np.testing.assert_allclose(*both(), rtol=1e-12)


def test_systems_of_any_types():
    """Entries in single and double precision, and an integer: beside the same by jets."""
    points = jnp.asarray(np.random.default_rng(0).normal(size=(4, 2)), jnp.float32)

    def residual(v, x):
        return {"a": v, "b": v.astype(jnp.float64) ** 2, "c": 2}

    found = [
        do.losses.ResidualLoss(
            do.equations.Equation(do.Laplacian(), residual),
            probes="exact",
            points=points,
            gpinn=0.1,
            gpinn_terms=terms,
        )(lambda x: jnp.sum(x**3), KEY)
        for terms in (None, 2)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_without_a_reverse_mode():
    def steps(x):
        return jax.lax.while_loop(lambda c: c[0] < 2.0, lambda c: (c[0] + 1, c[1] * x), (0.0, x))[1]

    problem = allen_cahn()
    with pytest.raises(
        ValueError, match="gpinn takes the residual's gradient by reverse mode, and"
    ):
        do.losses.ResidualLoss(problem, 2, probes="exact", gpinn=1.0)(
            lambda x: jnp.sum(steps(x)), jax.random.key(0)
        )

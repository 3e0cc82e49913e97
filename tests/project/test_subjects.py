"""What the benchmarks compare with computes what it should: beside nested differentiation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from benchmarks.subjects.methods import laplacian_by, laplacian_by_hand, stde
from benchmarks.subjects.networks import Network, mlp
from benchmarks.subjects.products import NETWORKS, by_diffop, by_folx, nested
from benchmarks.subjects.steps import GPINN_WEIGHT, POINTS, jvp_hvp

from ..oracle import to64

pytestmark = pytest.mark.usefixtures("x64")


def ansatz(dim):
    return to64(do.nn.ZeroOnUnitSphere(mlp(dim, Network(layers=3, width=8))))


def nested_laplacian(u):
    return lambda x: jnp.trace(jax.hessian(u)(x))


X = np.array([0.3, -0.5, 0.2, 0.1])


def test_the_laplacian_on_paper():
    u = ansatz(X.size)
    np.testing.assert_allclose(laplacian_by_hand(u)(X), nested_laplacian(u)(X), rtol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_laplacians_of_products(name):
    make, by_hand = NETWORKS[name]
    net = to64(make(X.size))
    with jax.numpy_rank_promotion("allow"):  # folx does not keep to it
        found = [way(net, jnp.asarray(X)) for way in (by_hand, by_diffop, by_folx, nested)]
    np.testing.assert_allclose(jnp.stack(found), nested_laplacian(net)(X), rtol=1e-9)


@pytest.mark.parametrize("baseline", ["jet", "forward-over-reverse"])
def test_baselines_with_every_coordinate_are_exact(baseline):
    u = ansatz(X.size)
    np.testing.assert_allclose(laplacian_by(baseline)(u)(X), nested_laplacian(u)(X), rtol=1e-12)


def test_all_draws_of_the_papers_sampler_are_the_laplacian():
    u = ansatz(X.size)
    found = stde(jax.random.key(0), X.size, X.size)(u)(X)
    np.testing.assert_allclose(found["u"], u(jnp.asarray(X)), rtol=1e-12)
    np.testing.assert_allclose(found["lap"], nested_laplacian(u)(X), rtol=1e-12)


def test_the_papers_gradient_enhanced_loss():
    """Of four coordinates it draws all, so nothing but its points is random."""
    problem = to64(do.pde.make("allen-cahn-two-body", X.size, key=jax.random.key(3)))
    u, key = ansatz(X.size), jax.random.key(5)

    def residual(x):
        return problem.residual({"u": u(x), "lap": nested_laplacian(u)(x)}, x)

    def squares(x):
        return residual(x) ** 2 + GPINN_WEIGHT * jnp.sum(jax.grad(residual)(x) ** 2)

    points = problem.sample(jax.random.split(key, 3)[0], POINTS)
    expected = jnp.mean(jax.jit(jax.vmap(squares))(points))
    found = eqx.filter_jit(jvp_hvp)(u, key, problem)
    np.testing.assert_allclose(found, expected, rtol=1e-10)

"""What the benchmarks compare with computes what it should: beside nested differentiation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffop as do
from benchmarks.subjects import attention, by_hand, products
from benchmarks.subjects.methods import laplacian_by, laplacian_by_hand, stde
from benchmarks.subjects.networks import Network, mlp
from benchmarks.subjects.steps import GPINN_WEIGHT, POINTS, jvp_hvp
from benchmarks.subjects.waves import marched_waves

from .. import nested
from ..oracle import to64

pytestmark = pytest.mark.usefixtures("x64")


def ansatz(dim):
    return to64(do.nn.ZeroOnUnitSphere(mlp(dim, Network(layers=3, width=8))))


X = np.array([0.3, -0.5, 0.2, 0.1])


def test_the_laplacian_on_paper():
    u = ansatz(X.size)
    np.testing.assert_allclose(laplacian_by_hand(u)(X), nested.laplacian(u)(X), rtol=1e-12)


@pytest.mark.parametrize("name", products.SUBJECTS)
def test_laplacians_of_products(name):
    subject = products.SUBJECTS[name]
    net = to64(subject.network(X.size))
    np.testing.assert_allclose(all_ways(subject, net, X), nested.laplacian(net)(X), rtol=1e-9)


@pytest.mark.parametrize("name, c", list(zip(by_hand.SUBJECTS, (1, 0.16 * X**2), strict=True)))
def test_laplacians_of_networks(name, c):
    subject, t = by_hand.SUBJECTS[name], jnp.asarray(0.3)
    net = to64(by_hand.network(X.size, width=8))
    hessian = jax.hessian(lambda x: by_hand.solution(net, t, x))(jnp.asarray(X))
    expected = jnp.sum(c * jnp.diagonal(hessian))
    np.testing.assert_allclose(all_ways(subject, net, (t, X)), expected, rtol=1e-9)


SLOW = pytest.mark.slow("compiles folx and nested differentiation of attention")


@pytest.mark.usefixtures("compiled_quickly")
@pytest.mark.parametrize("name", [pytest.param("attention", marks=SLOW), "determinants"])
@jax.numpy_rank_promotion("allow")
def test_energies_of_wave_functions(name):
    subject = attention.SUBJECTS[name]
    weights, (r,) = to64(subject.network(2)), to64(subject.points(1, 2))

    def log_psi(x):
        return attention.log_psi(weights, x.reshape(r.shape))

    @jax.jit
    def energy(x):
        return -(nested.laplacian(log_psi)(x) + jnp.sum(jax.grad(log_psi)(x) ** 2)) / 2

    np.testing.assert_allclose(all_ways(subject, weights, r), energy(r.reshape(-1)), rtol=1e-9)


def all_ways(subject, net, x):
    point = jax.tree.map(jnp.asarray, x)
    with jax.numpy_rank_promotion("allow"):  # folx does not keep to it
        return jnp.stack([jax.jit(way(X.size)(net))(point) for way in subject.ways.values()])


@pytest.mark.parametrize("baseline", ["jet", "forward-over-reverse"])
def test_baselines_with_every_coordinate_are_exact(baseline):
    u = ansatz(X.size)
    np.testing.assert_allclose(laplacian_by(baseline)(u)(X), nested.laplacian(u)(X), rtol=1e-12)


def test_all_draws_of_the_papers_sampler_are_the_laplacian():
    u = ansatz(X.size)
    found = stde(jax.random.key(0), X.size, X.size)(u)(X)
    np.testing.assert_allclose(found["u"], u(jnp.asarray(X)), rtol=1e-12)
    np.testing.assert_allclose(found["lap"], nested.laplacian(u)(X), rtol=1e-12)


def test_the_papers_gradient_enhanced_loss(monkeypatch):
    """Of four coordinates it draws all, so nothing but its points is random: they are given."""
    problem = to64(do.pde.make("allen-cahn-two-body", X.size, key=jax.random.key(3)))
    u, key = ansatz(X.size), jax.random.key(5)

    def residual(x):
        return problem.residual({"u": u(x), "lap": nested.laplacian(u)(x)}, x)

    points = problem.sample(key, POINTS)
    monkeypatch.setattr(type(problem), "sample", lambda *_: points)
    expected = jnp.mean(jax.jit(jax.vmap(nested.enhanced(residual, GPINN_WEIGHT)))(points))
    found = eqx.filter_jit(jvp_hvp)(u, key, problem)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_waves_follow_a_chaotic_equation():
    """In two windows, before waves are many, to the digits of the reference that count."""
    problem = do.pde.KuramotoSivashinsky(duration=0.02)
    settings = do.train.Settings(problem.name, width=8, batch=500, steps=12)
    u, fits = marched_waves(problem, settings, windows=2, waves=24, key=jax.random.key(0))
    points, values, *_ = problem.reference()
    found = jax.jit(jax.vmap(u))(points)
    np.testing.assert_allclose(found, values, atol=3e-5)
    assert len(fits) == 2
    later = np.asarray(points[:, 1]) > 0.015
    begun = jax.vmap(problem.initial)(points)
    assert np.abs(values - begun)[later].max() > 0.1

"""NetKet's kinetic energy by our operators: its operators, models, states and optimisation."""

import functools

import jax
import jax.numpy as jnp
import netket as nk
import numpy as np
import pytest
from netket.operator._kinetic import KineticEnergy

import diffop as do

THEIRS = KineticEnergy._expect_kernel_single
close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-9)


def ours(self, logpsi, params, x):
    """−½ Σ_i (∂_i² log ψ + (∂_i log ψ)²) / m_i."""
    rate = jnp.broadcast_to(jnp.reciprocal(self.mass), x.shape)
    operators = {"second": do.SecondOrder(rate), "gradient": do.Gradient()}
    v = do.exact(operators)(lambda x: jnp.squeeze(logpsi(params, x)))(x)
    return -0.5 * (v["second"] + jnp.sum(rate * v["gradient"] ** 2))


@pytest.fixture(autouse=True)
def replaced(monkeypatch):
    monkeypatch.setattr(KineticEnergy, "_expect_kernel_single", ours)


def theirs(monkeypatch):
    """NetKet as it is, for what is compared with it."""
    monkeypatch.setattr(KineticEnergy, "_expect_kernel_single", THEIRS)


ONE = nk.experimental.hilbert.Particle(N=1, geometry=nk.experimental.geometry.FreeSpace(d=3))
BOX = nk.experimental.geometry.Cell(d=2, L=(5.0, 4.0))
PERIODIC = nk.experimental.hilbert.Particle(N=3, geometry=BOX)
FREE = nk.experimental.hilbert.Particle(N=3, geometry=nk.experimental.geometry.FreeSpace(d=1))
X = np.array([[1.0, 2.0, 3.0], [-0.5, 0.3, 2.0]])
MASSES = [20.0, 2.0, [1.0, 2.0, 3.0]]
COEFFICIENTS = [1.0, -0.7, 1.0 + 1.0j]


def exact_kinetic(p, x, mass):
    """Of log ψ = p Σ x³."""
    return -0.5 * np.sum(((3 * p * x**2) ** 2 + 6 * p * x) / np.asarray(mass), axis=-1)


@pytest.mark.parametrize("mass", MASSES, ids=str)
@pytest.mark.parametrize("p", COEFFICIENTS, ids=str)
def test_kinetic_energy_of_a_polynomial(mass, p):
    operator = nk.operator.KineticEnergy(ONE, mass=mass)
    found = operator._expect_kernel(lambda p, x: p * jnp.sum(x**3), p, jnp.asarray(X))
    close(found, exact_kinetic(p, X, mass))


@pytest.mark.parametrize("factor", [1.0, 0.5, -2.0])
def test_sums_of_operators(factor):
    """Potentials, kinetic energies, and sums of both with factors."""
    v = lambda x: jnp.sum(jnp.exp(-(x**2)))
    heavy, light = (nk.operator.KineticEnergy(ONE, mass=mass) for mass in (20.0, 2.0))
    total = nk.operator.PotentialEnergy(ONE, v) + heavy + factor * light - heavy
    found = total._expect_kernel(lambda p, x: p * jnp.sum(x**3), 1.0, jnp.asarray(X))
    close(found, np.sum(np.exp(-(X**2)), axis=-1) + factor * exact_kinetic(1.0, X, 2.0))


MODELS = {
    "Gaussian": (FREE, nk.models.Gaussian()),
    "Gaussian in single precision": (FREE, nk.models.Gaussian(param_dtype=jnp.float32)),
    "complex Gaussian": (FREE, nk.models.Gaussian(param_dtype=complex)),
    "deep set": (
        PERIODIC,
        nk.models.DeepSetRelDistance(
            hilbert=PERIODIC,
            layers_phi=2,
            layers_rho=3,
            features_phi=(10, 10),
            features_rho=(10, 10, 1),
        ),
    ),
    "deep set with a cusp": (
        PERIODIC,
        nk.models.DeepSetRelDistance(
            hilbert=PERIODIC,
            cusp_exponent=5,
            layers_phi=2,
            layers_rho=3,
            features_phi=(10, 10),
            features_rho=(10, 10, 1),
        ),
    ),
    "network": (FREE, nk.models.MLP(hidden_dims=(8, 8), param_dtype=float)),
}


def oscillator(hilbert, mass=1.0):
    """Particles in a well that is periodic where their box is."""
    kinetic = nk.operator.KineticEnergy(hilbert, mass=mass)
    if hilbert is PERIODIC:
        return kinetic + nk.operator.PotentialEnergy(hilbert, lambda x: jnp.sum(jnp.cos(x)))
    return kinetic + nk.operator.PotentialEnergy(hilbert, lambda x: 0.5 * jnp.sum(x**2))


@pytest.mark.parametrize("name", MODELS)
def test_local_energies_of_models(name, monkeypatch):
    hilbert, model = MODELS[name]
    kinetic = nk.operator.KineticEnergy(hilbert, mass=1.5)
    x = jax.random.uniform(jax.random.key(1), (16, hilbert.size), minval=-1.5, maxval=1.5)
    variables = model.init(jax.random.key(0), x)

    def energies(variables, x):
        logpsi = lambda variables, x: model.apply(variables, x[None])[0]
        return kinetic._expect_kernel(logpsi, variables, x)

    # a fresh function each time: jax.jit keeps programs by function
    own = jax.jit(lambda *args: energies(*args))(variables, x)
    theirs(monkeypatch)
    other = jax.jit(lambda *args: energies(*args))(variables, x)
    rounding = 1e-4 if "single" in name else 1e-9
    np.testing.assert_allclose(own, other, rtol=rounding, atol=rounding)
    assert own.dtype == other.dtype


def state(name):
    hilbert, model = MODELS[name]
    sampler = nk.sampler.MetropolisGaussian(hilbert, sigma=0.3, n_chains=16, sweep_size=8)
    return hilbert, nk.vqs.MCState(sampler, model, n_samples=256, seed=3, sampler_seed=4)


@pytest.mark.parametrize("name", ["Gaussian", "complex Gaussian", "deep set with a cusp"])
def test_expectations_and_forces(name, monkeypatch):
    """The energy of a variational state, its error, and its gradient by all parameters."""

    def found():
        hilbert, variational = state(name)
        stats, forces = variational.expect_and_grad(oscillator(hilbert))
        return stats.mean, stats.error_of_mean, forces

    jax.clear_caches()
    own = found()
    theirs(monkeypatch)
    jax.clear_caches()
    other = found()
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-7, atol=1e-7), own, other)


@pytest.mark.parametrize("chunk", [None, 64])
def test_chunks_of_samples(chunk):
    jax.clear_caches()
    hilbert, variational = state("network")
    whole = variational.expect(oscillator(hilbert)).mean
    variational.chunk_size = chunk
    close(variational.expect(oscillator(hilbert)).mean, whole)


def test_oscillators_find_their_ground_state():
    """Three oscillators of frequency one: 3/2. A Gaussian has the ground state."""
    jax.clear_caches()
    hilbert, variational = state("Gaussian")
    driver = nk.driver.VMC(
        oscillator(hilbert),
        nk.optimizer.Sgd(0.05),
        variational_state=variational,
        preconditioner=nk.optimizer.SR(diag_shift=0.01),
    )
    driver.run(100, show_progress=False)
    found = variational.expect(oscillator(hilbert))
    assert abs(found.mean.real - 1.5) < 0.01
    assert found.variance < 0.01

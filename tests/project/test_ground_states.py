"""The parts of `examples/ground_states.py`, beside what is known exactly."""

import importlib.util
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("x64")

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "ground_states.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("ground_states", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def promotion():
    """JAX's own settings, with which the script runs."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


def points(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape))


@pytest.mark.parametrize("charge", [1.0, 3.0])
def test_one_electron_has_its_energy_everywhere(script, charge):
    """e^{−Zr}: −Z²/2."""
    system = script.System(script.CENTRE, (charge,), (1, 0), -(charge**2) / 2)
    log_psi = lambda r: -charge * jnp.linalg.norm(r)
    energies = jax.vmap(lambda r: script.local_energy(system, log_psi, r))(points(5, 1, 3))
    np.testing.assert_allclose(energies, system.exact, rtol=1e-10)


def test_repulsion_of_electrons_and_of_nuclei(script):
    r = jnp.array([[0.0, 0, 0], [0, 2.0, 0]])
    nearest, farthest = 1 / 0.7, 1 / np.hypot(0.7, 2)
    expected = 1 / 2 + 1 / 1.4 - 2 * nearest - 2 * farthest
    np.testing.assert_allclose(script.potential(script.SYSTEMS["H2"], r), expected)


def test_walkers_are_distributed_by_the_square(script):
    """⟨r⟩ = 3/2 and ⟨r²⟩ = 3 of hydrogen, within five standard errors of independent walkers."""
    system = script.System(script.CENTRE, (1.0,), (1, 0), -0.5)
    log_psi = lambda r: -jnp.linalg.norm(r)
    walkers, accepted = jax.jit(
        lambda w: script.metropolis(system, log_psi, w, jax.random.key(1), 0.4, 200)
    )(points(4000, 1, 3))
    r = np.linalg.norm(walkers, axis=-1)
    assert 0.3 < accepted < 0.8
    for values, expected in ((r, 1.5), (r**2, 3.0)):
        assert abs(values.mean() - expected) < 5 * values.std() / len(r) ** 0.5


@pytest.mark.parametrize("name", ["Li", "Be", "N"])
def test_equal_spins_exchange(script, name):
    """log|ψ| is as before, and much lower where two of them meet."""
    psi = jax.jit(script.WaveFunction(script.SYSTEMS[name], key=jax.random.key(0)).__call__)
    r = points(sum(script.SYSTEMS[name].spins), 3)
    np.testing.assert_allclose(psi(r[jnp.array([1, 0, *range(2, len(r))])]), psi(r), rtol=1e-10)
    assert psi(r.at[1].set(r[0] + 1e-6)) < psi(r) - 5


@pytest.mark.parametrize("meeting", ["electrons", "nucleus"])
def test_cusps_keep_local_energies_finite(script, meeting):
    """At a distance of 10⁻⁵ the potential is 10⁵."""
    system = script.SYSTEMS["He"]
    psi = script.WaveFunction(system, key=jax.random.key(0))
    energy = jax.jit(lambda r: script.local_energy(system, psi, r))
    other = jnp.zeros(3) if meeting == "nucleus" else jnp.array([0.3, -0.8, 0.5])
    for distance in (1e-3, 1e-5):
        near = other + distance * jnp.array([0.6, 0.0, 0.8])
        second = points(3) if meeting == "nucleus" else other
        assert abs(energy(jnp.stack([near, second]))) < 30


@pytest.mark.parametrize("exponents", [[9.0, -2.0], [9.0, 9.0]])
def test_steep_orbitals_stay_in_the_range_of_float32(script, exponents):
    """Where all electrons of a spin are far away, orbitals are as small as e⁻²⁰⁰ beside others."""
    system = script.SYSTEMS["Be"]
    network = script.WaveFunction(system, key=jax.random.key(0))
    steep = network.decay.at[:, 3].set(jnp.array([*exponents, *exponents]))
    network = eqx.tree_at(lambda n: n.decay, network, steep)
    network = jax.tree.map(lambda a: a.astype("float32") if eqx.is_array(a) else a, network)
    energy = jax.jit(lambda r: script.local_energy(system, network, r))
    for scale in (1.0, 4.0):
        assert jnp.isfinite(energy((scale * points(4, 3)).astype("float32")))


def test_the_step_is_the_regularised_least_square(script):
    """(OᵀO + λ)⁻¹ Oᵀe of centred O and e; with momentum, of what the last step misses."""
    scores, energies, before = points(7, 4), points(7, 2)[:, 1], points(4, 3)[:, 2]
    centred = (scores - scores.mean(axis=0)) / 7**0.5
    wanted = (energies - energies.mean()) / 7**0.5
    matrix = centred.T @ centred + 1e-3 * jnp.eye(4)
    for momentum in (0.0, 0.9):
        expected = momentum * before + jnp.linalg.solve(
            matrix, centred.T @ (wanted - momentum * centred @ before)
        )
        found = script.spring(scores, energies, before, momentum=momentum)
        np.testing.assert_allclose(found, expected, rtol=1e-8)

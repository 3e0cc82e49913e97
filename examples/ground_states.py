"""Ground states of He, Li, Be and H₂ by variational Monte Carlo, beside the exact energies.

    python examples/ground_states.py --system He

The wave function is a sum of products of two determinants, one for each spin, of orbitals that see
where the other electrons are, times a factor with the right cusps. The local energy is
V − ½ (Δ log|ψ| + |∇ log|ψ||²): two operators, one pass. Its mean over ψ² is never below the exact
energy, and it is lowered by natural gradients with momentum: SPRING, of Goldshlager, Abrahamsen and
Lin 2024, "A Kaczmarz-inspired approach to accelerate the optimization of neural network
wavefunctions".
"""

import argparse
import time
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import diffop as do

KINETIC = {"lap": do.Laplacian(), "gradient": do.Gradient()}


class System(NamedTuple):
    """Nuclei, electrons of either spin, and the energy without relativity and motion of nuclei."""

    nuclei: tuple[tuple[float, float, float], ...]
    charges: tuple[float, ...]
    spins: tuple[int, int]
    exact: float


CENTRE = ((0.0, 0.0, 0.0),)
SYSTEMS = {
    "He": System(CENTRE, (2.0,), (1, 1), -2.903724),  # Pekeris 1959
    "Li": System(CENTRE, (3.0,), (2, 1), -7.478060),  # Yan, Drake 1998
    "Be": System(CENTRE, (4.0,), (2, 2), -14.667356),  # Pachucki, Komasa 2004
    # at 1.4 bohr, Sims, Hagstrom 2006
    "H2": System(((-0.7, 0.0, 0.0), (0.7, 0.0, 0.0)), (1.0, 1.0), (1, 1), -1.174476),
}


def pairs(count):
    """Each two of them, once."""
    return np.triu_indices(count, 1)


def distances(a, b):
    return jnp.linalg.norm(a - b, axis=-1)


def potential(system, r):
    """Electrons repel each other, nuclei attract them, and repel each other."""
    nuclei, charges = np.array(system.nuclei), np.array(system.charges)
    (i, j), (m, n) = pairs(len(r)), pairs(len(nuclei))
    attraction = jnp.sum(charges / distances(r[:, None], nuclei))
    fixed = np.sum(charges[m] * charges[n] / np.linalg.norm(nuclei[m] - nuclei[n], axis=-1))
    return jnp.sum(1 / distances(r[i], r[j])) - attraction + fixed


def local_energy(system, log_psi, r):
    v = do.exact(KINETIC)(log_psi)(r)
    return potential(system, r) - 0.5 * (v["lap"] + jnp.sum(v["gradient"] ** 2))


def smooth(vector):
    """A direction and a length, without a cusp where the vector is zero."""
    length = jnp.sqrt(1 + jnp.sum(vector**2, axis=-1, keepdims=True))
    return jnp.concatenate([vector / length, jnp.log(length)], axis=-1)


class WaveFunction(eqx.Module):
    """log|ψ| of positions `(electrons, 3)`, the spins one after the other."""

    meeting: eqx.nn.MLP
    orbitals: eqx.nn.MLP
    decay: jax.Array
    cusps: jax.Array
    system: System = eqx.field(static=True)

    def __init__(self, system, determinants=8, width=32, *, key):
        first, second = jax.random.split(key)
        electrons, nuclei = sum(system.spins), len(system.nuclei)
        self.system = system
        self.meeting = eqx.nn.MLP(4, 16, 16, 1, jnp.tanh, jnp.tanh, key=first)
        self.orbitals = eqx.nn.MLP(
            4 * nuclei + 33, determinants * electrons, width, 2, jnp.tanh, key=second
        )
        shells = np.concatenate([1.0 + np.arange(count) for count in system.spins])
        sizes = (nuclei, determinants, electrons)
        self.decay = jnp.asarray(np.log(np.broadcast_to(1 / shells, sizes)), float)
        self.cusps = jnp.zeros(3)

    def __call__(self, r):
        up = self.system.spins[0]
        rows = jnp.moveaxis(self.rows(r), 1, 0)  # (determinants, electrons, orbitals)
        signs, logs = jnp.linalg.slogdet(rows[:, :up, :up])
        other_signs, other_logs = jnp.linalg.slogdet(rows[:, up:, up:])
        log, sign = logs + other_logs, signs * other_signs
        most = jax.lax.stop_gradient(jnp.max(log))
        return most + jnp.log(jnp.abs(jnp.sum(sign * jnp.exp(log - most)))) + self.jastrow(r)

    def rows(self, r):
        """The orbitals at each electron, `(electrons, determinants, orbitals)`."""
        charges, count = np.array(self.system.charges), len(r)
        spin = np.repeat([1.0, -1.0], self.system.spins)
        alike = np.equal.outer(spin, spin) & ~np.eye(count, dtype=bool)
        met = jax.vmap(jax.vmap(self.meeting))(smooth(r[:, None] - r))
        seen = [
            jnp.einsum("ij,ijk->ik", mask * 1.0, met) for mask in (alike, spin[:, None] != spin)
        ]
        away = (r[:, None] - np.array(self.system.nuclei)) * charges[:, None]
        own = smooth(away)
        inputs = jnp.concatenate([own.reshape(count, -1), *seen, spin[:, None]], axis=1)
        length = jnp.sqrt(1 + jnp.sum(away**2, axis=-1))[..., None, None]
        envelopes = jnp.sum(jnp.exp(-jnp.exp(self.decay) * length), axis=1)
        return (1 + jax.vmap(self.orbitals)(inputs).reshape(envelopes.shape)) * envelopes

    def jastrow(self, r):
        """log|ψ| has the slope ½ where electrons meet, ¼ for equal spins, −Z at a nucleus."""
        charges, up = np.array(self.system.charges), self.system.spins[0]
        alike, unlike, nuclear = jnp.exp(self.cusps)
        i, j = pairs(len(r))
        same = (i < up) == (j < up)
        apart = distances(r[i], r[j])
        slope, bend = np.where(same, 0.25, 0.5), jnp.where(same, alike, unlike)
        away = charges * distances(r[:, None], np.array(self.system.nuclei))
        return jnp.sum(slope * apart / (1 + bend * apart)) - jnp.sum(away / (1 + nuclear * away))


def metropolis(log_psi, walkers, key, width, steps):
    """Walkers distributed by ψ², and how many of their moves were made: each with probability
    ψ²(new)/ψ²(old).
    """

    def move(state, key):
        walkers, logs = state
        step_key, accept_key = jax.random.split(key)
        proposed = walkers + width * jax.random.normal(step_key, walkers.shape)
        new = jax.vmap(log_psi)(proposed)
        accepted = jnp.log(jax.random.uniform(accept_key, new.shape)) < 2 * (new - logs)
        walkers = jnp.where(accepted[:, None, None], proposed, walkers)
        return (walkers, jnp.where(accepted, new, logs)), jnp.mean(accepted)

    state = (walkers, jax.vmap(log_psi)(walkers))
    (walkers, _), accepted = jax.lax.scan(move, state, jax.random.split(key, steps))
    return walkers, jnp.mean(accepted)


def clipped(energies):
    """Outliers, near nodes, within five mean deviations of the median."""
    centre = jnp.median(energies)
    spread = 5 * jnp.mean(jnp.abs(energies - centre))
    return jnp.clip(energies, centre - spread, centre + spread)


def spring(scores, energies, before, damping=1e-3, momentum=0.98):
    """The step φ of least |Oφ − e|² + λ|φ − μφ₀|², in the space of the walkers: O are the centred
    derivatives of log|ψ| by the parameters, e the centred energies, φ₀ the step before.
    """
    count = len(energies)
    centred = (scores - jnp.mean(scores, axis=0)) / count**0.5
    wanted = (energies - jnp.mean(energies)) / count**0.5
    gram = centred @ centred.T + (damping * jnp.eye(count) + 1 / count)
    factor = jax.scipy.linalg.cho_factor(gram)
    missing = wanted - momentum * (centred @ before)
    return centred.T @ jax.scipy.linalg.cho_solve(factor, missing) + momentum * before


class State(NamedTuple):
    parameters: jax.Array
    direction: jax.Array
    walkers: jax.Array
    width: jax.Array


def step(system, model, state, key, rate, moves=10, longest=0.1):
    """Move the walkers, then the parameters; widths of moves follow their acceptance."""
    parameters, direction, walkers, width = state
    log_psi = model(parameters)
    walkers, accepted = metropolis(log_psi, walkers, key, width, moves)
    width = width * jnp.where(accepted > 0.5, 1.05, 0.95)
    energies = jax.vmap(lambda r: local_energy(system, log_psi, r))(walkers)
    scores = jax.vmap(jax.grad(lambda p, r: model(p)(r)), in_axes=(None, 0))(parameters, walkers)
    direction = spring(scores, clipped(energies), direction)
    rate = jnp.minimum(rate, longest / jnp.linalg.norm(direction))
    return State(parameters - rate * direction, direction, walkers, width), jnp.mean(energies)


def measure(system, model, state, key, blocks, moves=30):
    """The energy of a fixed wave function, with its standard error from means over blocks of time,
    which are long enough to be independent.
    """

    def sample(walkers, key):
        walkers, _ = metropolis(model(state.parameters), walkers, key, state.width, moves)
        energy = jax.vmap(lambda r: local_energy(system, model(state.parameters), r))(walkers)
        return walkers, (jnp.mean(energy), jnp.var(energy))

    keys = jax.random.split(key, blocks * 10)
    _, (means, variances) = jax.jit(lambda w: jax.lax.scan(sample, w, keys))(state.walkers)
    means = np.asarray(means, float).reshape(blocks, 10).mean(axis=1)
    return means.mean(), means.std(ddof=1) / blocks**0.5, float(np.mean(variances))


def main() -> None:
    parser = argparse.ArgumentParser(description="variational Monte Carlo with determinants")
    parser.add_argument("--system", choices=SYSTEMS, default="He")
    parser.add_argument("--steps", type=int, default=600, help="steps of the optimiser")
    parser.add_argument("--walkers", type=int, default=512)
    parser.add_argument("--blocks", type=int, default=30, help="of the final measurement")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    system = SYSTEMS[options.system]
    net_key, start_key, warm_key, key, last_key = jax.random.split(jax.random.key(options.seed), 5)
    network = WaveFunction(system, key=net_key)
    arrays, static = eqx.partition(network, eqx.is_array)
    parameters, unravel = ravel_pytree(arrays)

    def model(parameters):
        return eqx.combine(unravel(parameters), static)

    shape = (options.walkers, sum(system.spins), 3)
    places = np.resize(np.array(system.nuclei), shape[1:])  # electrons take turns among nuclei
    walkers = jnp.asarray(places) + jax.random.normal(start_key, shape)
    state = State(parameters, jnp.zeros_like(parameters), walkers, jnp.array(0.3))
    walkers, _ = jax.jit(lambda w: metropolis(model(parameters), w, warm_key, 0.3, 300))(walkers)
    state = state._replace(walkers=walkers)

    begun = time.perf_counter()
    advance = jax.jit(lambda state, key, rate: step(system, model, state, key, rate))
    for number, step_key in enumerate(jax.random.split(key, options.steps)):
        rate = 0.1 / (1 + number / 200)
        state, energy = advance(state, step_key, rate)
        if number % 100 == 0:
            print(f"step {number:4d}  E = {energy:.4f}  {time.perf_counter() - begun:.0f} s")
    energy, error, variance = measure(system, model, state, last_key, options.blocks)
    print(f"{options.system}: E = {energy:.5f} ± {error:.5f} hartree, variance {variance:.1e}")
    print(f"exactly {system.exact}: {1e3 * (energy - system.exact):.2f} mHa above")
    print(f"relative error {abs(energy / system.exact - 1):.1e}")


if __name__ == "__main__":
    main()

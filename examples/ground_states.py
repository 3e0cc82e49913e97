"""Ground states of He, Li, Be, N and H₂ by variational Monte Carlo, beside the exact energies.

    python examples/ground_states.py --system He

The wave function is a sum of products of two determinants, one for each spin, of orbitals that see
where the other electrons are, times a factor with the right cusps, and one that is learned. The
local energy is V − ½ (Δ log|ψ| + |∇ log|ψ||²): two operators, one pass. Its mean over ψ² is never
below the exact energy, and it is lowered by natural gradients with momentum: SPRING, of
Goldshlager, Abrahamsen and Lin 2024, "A Kaczmarz-inspired approach to accelerate the optimization
of neural network wavefunctions".
"""

import argparse
import os
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
    "N": System(CENTRE, (7.0,), (5, 2), -54.5892),  # Chakravorty et al. 1993
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


def features(vector):
    """A direction and a length without a cusp where the vector v is zero. Then the same of higher
    order, from |v| v and |v|³: wave functions have such terms, which add no slope at zero.
    """
    square = jnp.sum(vector**2, axis=-1, keepdims=True)
    length = jnp.sqrt(1 + square)
    direction, part = vector / length, jnp.sqrt(square) / length
    return jnp.concatenate([direction, jnp.log(length), part * direction, part**3], axis=-1)


class WaveFunction(eqx.Module):
    """log|ψ| of positions `(electrons, 3)`, the spins one after the other."""

    meeting: eqx.nn.MLP
    orbitals: eqx.nn.MLP
    decay: jax.Array
    cusps: jax.Array
    system: System = eqx.field(static=True)

    def __init__(self, system, determinants=8, width=32, met=16, *, key):
        first, second = jax.random.split(key)
        electrons, nuclei = sum(system.spins), len(system.nuclei)
        self.system = system
        self.meeting = eqx.nn.MLP(8 + 8 * nuclei, met, met, 1, jnp.tanh, jnp.tanh, key=first)
        inputs = 8 * nuclei + 2 * met + 1
        outputs = determinants * electrons + 1
        self.orbitals = eqx.nn.MLP(inputs, outputs, width, 2, jnp.tanh, key=second)
        # a quarter in the second shell: half by its number, half as the first hides the nucleus
        exponents = np.concatenate([np.where(np.arange(n) > 0, 0.25, 1) for n in system.spins])
        sizes = (nuclei, determinants, electrons)
        self.decay = jnp.asarray(np.broadcast_to(np.log(exponents / (2 - exponents)), sizes), float)
        self.cusps = jnp.zeros(3)

    def __call__(self, r):
        up = self.system.spins[0]
        rows, factor = self.rows(r)
        rows = jnp.moveaxis(rows, 1, 0)  # (determinants, electrons, orbitals)
        signs, logs = jnp.linalg.slogdet(rows[:, :up, :up])
        other_signs, other_logs = jnp.linalg.slogdet(rows[:, up:, up:])
        log, sign = factor + logs + other_logs, signs * other_signs
        most = jax.lax.stop_gradient(jnp.max(log))
        total = jnp.abs(jnp.sum(sign * jnp.exp(log - most)))
        return most + jnp.log(total) + self.jastrow(r)

    def rows(self, r):
        """The orbitals at each electron, `(electrons, determinants, orbitals)`, divided by what
        keeps them in range far away, and the logarithm of the factor of all determinants: of what
        they were divided by, and of one that the network learns.
        """
        charges, count = np.array(self.system.charges), len(r)
        spin = np.repeat([1.0, -1.0], self.system.spins)
        away = (r[:, None] - np.array(self.system.nuclei)) * charges[:, None]
        each = features(away)
        own = each.reshape(count, -1)
        others = np.array([np.delete(np.arange(count), i) for i in range(count)])
        apart = max(self.system.charges) * (r[:, None] - r[others])  # as short as the first shell
        pair = jnp.concatenate([features(apart), own[others]], axis=-1)
        met = jax.vmap(jax.vmap(self.meeting))(pair)
        alike = spin[others] == spin[:, None]
        seen = [jnp.einsum("ij,ijk->ik", mask * 1.0, met) for mask in (alike, ~alike)]
        inputs = jnp.concatenate([own, *seen, spin[:, None]], axis=1)
        length = jnp.sqrt(1 + jnp.sum(away**2, axis=-1))[..., None, None]
        exponents = 2 * jax.nn.sigmoid(self.decay)  # no more than 2: determinants stay in range
        logs = jax.nn.logsumexp(-exponents * length, axis=1)
        most = jax.lax.stop_gradient(jnp.max(logs, axis=-1, keepdims=True))
        # 1s, 2s, 2p in three directions
        shapes = jnp.concatenate([jnp.ones((count, 2)), jnp.sum(each[..., :3], axis=1)], axis=1)
        which = np.concatenate([np.arange(n) for n in self.system.spins])
        learned = jax.vmap(self.orbitals)(inputs)
        factor = jnp.sum(learned[:, 0]) + jnp.sum(most, axis=(0, 2))
        learned = learned[:, 1:].reshape(logs.shape)
        return (shapes[:, None, which] + learned) * jnp.exp(logs - most), factor

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


def metropolis(system, log_psi, walkers, key, width, steps):
    """Walkers distributed by ψ², and how many of their moves were made. Electrons make short moves
    near nuclei and long ones far away. A move is made with probability ψ²(new)/ψ²(old), times the
    density of proposing the way back over that of proposing the way there.
    """
    nuclei, charges = np.array(system.nuclei), np.array(system.charges)

    def widths(r):
        return width / jnp.sum(1 / (distances(r[..., None, :], nuclei) + 1 / charges), axis=-1)

    def density(moved, widths):
        squares = jnp.sum(moved**2, axis=-1)
        return -jnp.sum(3 * jnp.log(widths) + squares / (2 * widths**2), axis=-1)

    def move(state, key):
        walkers, logs = state
        step_key, accept_key = jax.random.split(key)
        here = widths(walkers)
        moved = here[..., None] * jax.random.normal(step_key, walkers.shape)
        proposed = walkers + moved
        new = jax.vmap(log_psi)(proposed)
        ratio = 2 * (new - logs) + density(moved, widths(proposed)) - density(moved, here)
        accepted = jnp.log(jax.random.uniform(accept_key, new.shape)) < ratio
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


def spring(scores, energies, before, damping=1e-3, momentum=0.9):
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


def step(system, model, state, key, rate, moves=10, longest=0.3):
    """Move the walkers, then the parameters; widths of moves follow their acceptance."""
    parameters, direction, walkers, width = state
    log_psi = model(parameters)
    walkers, accepted = metropolis(system, log_psi, walkers, key, width, moves)
    width = width * jnp.where(accepted > 0.5, 1.05, 0.95)
    energies = jax.vmap(lambda r: local_energy(system, log_psi, r))(walkers)
    scores = jax.vmap(jax.grad(lambda p, r: model(p)(r)), in_axes=(None, 0))(parameters, walkers)
    direction = spring(scores, clipped(energies), direction)
    rate = jnp.minimum(rate, longest / jnp.linalg.norm(direction))
    return State(parameters - rate * direction, direction, walkers, width), jnp.mean(energies)


def measure(system, model, state, key, blocks, samples=20, moves=15):
    """The energy of a fixed wave function, with its standard error from means over blocks of time,
    which are long enough to be independent.
    """
    log_psi = model(state.parameters)

    def sample(walkers, key):
        walkers, _ = metropolis(system, log_psi, walkers, key, state.width, moves)
        energy = jax.vmap(lambda r: local_energy(system, log_psi, r))(walkers)
        return walkers, (jnp.mean(energy), jnp.var(energy))

    keys = jax.random.split(key, blocks * samples)
    _, (means, variances) = jax.jit(lambda w: jax.lax.scan(sample, w, keys))(state.walkers)
    means = np.asarray(means, float).reshape(blocks, samples).mean(axis=1)
    return means.mean(), means.std(ddof=1) / blocks**0.5, float(np.mean(variances))


def main() -> None:
    parser = argparse.ArgumentParser(description="variational Monte Carlo with determinants")
    parser.add_argument("--system", choices=SYSTEMS, default="He")
    parser.add_argument("--steps", type=int, default=600, help="steps of the optimiser")
    parser.add_argument("--walkers", type=int, default=512)
    parser.add_argument("--blocks", type=int, default=30, help="of the final measurement")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.blocks < 2:
        parser.error("--blocks must be at least 2: the error is that of a mean over blocks")
    # One thread of XLA, set before JAX looks for devices: with few, jaxlib 0.10.2 stands still when
    # two batches of determinants are computed at once: each waits on a thread that the other needs.
    os.environ.setdefault("NPROC", "1")
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
    warm = jax.jit(lambda w: metropolis(system, model(parameters), w, warm_key, 0.3, 300)[0])
    state = state._replace(walkers=warm(walkers))

    @jax.jit
    def advance(state, keys, rates):
        return jax.lax.scan(lambda s, x: step(system, model, s, *x), state, (keys, rates))

    keys, rates = jax.random.split(key, options.steps), jnp.linspace(0.1, 0, options.steps, False)
    for before in range(0, options.steps, 100):
        some = slice(before, before + 100)
        state, energies = advance(state, keys[some], rates[some])
        energy, done = jnp.mean(energies), before + len(energies)
        print(f"step {done:4d}  E = {energy:.4f}  {time.process_time():.0f} s", flush=True)
    energy, error, variance = measure(system, model, state, last_key, options.blocks)
    print(f"{options.system}: E = {energy:.5f} ± {error:.5f} hartree, variance {variance:.1e}")
    print(f"exactly {system.exact}: {1e3 * (energy - system.exact):.2f} mHa above")
    print(f"{len(parameters)} parameters, {time.process_time():.0f} s of processor time")
    print(f"relative error {abs(energy / system.exact - 1):.1e}")


if __name__ == "__main__":
    main()

"""The ground state of helium: a trial function's energy, lowered by variational Monte Carlo.

    python examples/helium.py

The local energy is V − ½ (Δ log ψ + |∇ log ψ|²): two operators, one pass. Its mean over ψ² is never
below the exact energy, −2.9037 hartree.
"""

import argparse

import jax
import jax.numpy as jnp
import optax

import diffop as do

EXACT = -2.9037  # non-relativistic, infinite nuclear mass; Pekeris 1959
KINETIC = {"lap": do.Laplacian(), "gradient": do.Gradient()}


def potential(r):
    nuclear = jnp.sum(1 / jnp.linalg.norm(r, axis=-1))
    return -2 * nuclear + 1 / jnp.linalg.norm(r[0] - r[1])


def log_psi(parameters, r):
    """Exponentials for the electrons, and a factor with the right cusp where they meet."""
    charge, jastrow = parameters
    apart = jnp.linalg.norm(r[0] - r[1])
    nuclear = jnp.sum(jnp.linalg.norm(r, axis=-1))
    return -charge * nuclear + 0.5 * apart / (1 + jnp.exp(jastrow) * apart)


def local_energy(parameters, r):
    v = do.exact(KINETIC)(lambda r: log_psi(parameters, r))(r)
    return potential(r) - 0.5 * (v["lap"] + jnp.sum(v["gradient"] ** 2))


def metropolis(parameters, walkers, key, steps=10, width=0.4):
    """Walkers distributed by ψ²: a move is made with probability ψ²(new)/ψ²(old)."""

    def move(walkers, key):
        step_key, accept_key = jax.random.split(key)
        proposed = walkers + width * jax.random.normal(step_key, walkers.shape)
        logs = [jax.vmap(lambda r: log_psi(parameters, r))(each) for each in (proposed, walkers)]
        accepted = jnp.log(jax.random.uniform(accept_key, logs[0].shape)) < 2 * (logs[0] - logs[1])
        return jnp.where(accepted[:, None, None], proposed, walkers), None

    return jax.lax.scan(move, walkers, jax.random.split(key, steps))[0]


def surrogate(parameters, walkers):
    """Its gradient is that of the energy, 2 E[(E_loc − E) ∇ log ψ]; its value is the energy."""
    energies = jax.vmap(lambda r: local_energy(parameters, r))(walkers)
    deviations = jax.lax.stop_gradient(energies - jnp.mean(energies))
    logs = jax.vmap(lambda r: log_psi(parameters, r))(walkers)
    return 2 * jnp.mean(deviations * logs), energies


def main() -> None:
    parser = argparse.ArgumentParser(description="variational Monte Carlo for helium")
    parser.add_argument("--steps", type=int, default=200, help="steps of the optimiser")
    steps = parser.parse_args().steps
    optimiser = optax.adam(optax.linear_schedule(5e-2, 0.0, steps))

    @jax.jit
    def step(state, key):
        parameters, moments, walkers = state
        walkers = metropolis(parameters, walkers, key)
        gradient, energies = jax.grad(surrogate, has_aux=True)(parameters, walkers)
        updates, moments = optimiser.update(gradient, moments)
        return (optax.apply_updates(parameters, updates), moments, walkers), jnp.mean(energies)

    parameters = (jnp.array(1.6), jnp.array(0.0))
    start_key, warm_key, key = jax.random.split(jax.random.key(0), 3)
    walkers = jax.random.normal(start_key, (2000, 2, 3))
    walkers = jax.jit(metropolis, static_argnames="steps")(parameters, walkers, warm_key, steps=300)
    state, energies = (parameters, optimiser.init(parameters), walkers), []
    for number, step_key in enumerate(jax.random.split(key, steps)):
        state, energy = step(state, step_key)
        energies.append(float(energy))
        if number % 50 == 0:
            print(f"step {number:4d}  E = {energies[-1]:.3f} hartree")
    found = sum(energies[-50:]) / len(energies[-50:])
    print(f"E = {found:.3f}, exactly {EXACT}: relative error {abs(found / EXACT - 1):.1e}")


if __name__ == "__main__":
    main()

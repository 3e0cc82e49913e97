"""An inverse problem: a diffusion coefficient from noisy measurements of the solution.

    python examples/inverse.py

The equation is u − κΔu = f on the unit disc, u = 0 on its rim. The source f is known, u is measured
at 100 points with an error of 0.01, and κ is not known. It is a coefficient of the operator, hence
a leaf of the pytree that the optimiser sees, as the network's weights are.
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import diffop as do

KAPPA, START, NOISE = 0.3, 1.0, 0.01


def solution(x):
    return (1 - x @ x) * jnp.exp(x[0]) * jnp.cos(x[1])


source = (do.Identity() - KAPPA * do.Laplacian()).exact(solution)


def residual(values, x):
    return values["u"] - values["diffusion"] - source(x)


def kappa(pinn):
    """The one array that the operators have."""
    (leaf,) = jax.tree.leaves(pinn.equation.operators())
    return float(leaf)


def main() -> None:
    parser = argparse.ArgumentParser(description="recover a diffusion coefficient")
    parser.add_argument("--steps", type=int, default=2000, help="steps of Adam")
    steps = parser.parse_args().steps
    net_key, sensor_key, noise_key, key = jax.random.split(jax.random.key(0), 4)

    sensors = do.pde.unit_ball_by_radius(sensor_key, 100, 2)
    measured = jax.vmap(solution)(sensors) + NOISE * jax.random.normal(noise_key, (100,))

    net = eqx.nn.MLP(2, "scalar", 32, depth=2, activation=jnp.tanh, key=net_key)
    operators = {"u": do.Identity(), "diffusion": jnp.array(START) * do.Laplacian()}
    data = [do.equations.Condition(do.Identity(), sensors, measured)]
    equation = do.equations.Equation(operators, residual, conditions=data, trainable=True)
    pinn = do.nn.PINN(net, equation, ansatz=do.nn.ZeroOnUnitSphere)

    def loss(pinn, key):
        return pinn.loss(do.pde.unit_ball_by_radius(key, 100, 2), data_weight=10.0)

    result = do.train.fit(
        pinn,
        loss,
        optax.adam(optax.linear_schedule(1e-2, 0.0, steps)),
        steps,
        key=key,
        observe=lambda step, pinn, losses: print(
            f"step {step:4d}  loss {losses[-1]:.2e}  kappa {kappa(pinn):.4f}"
        ),
        steps_per_dispatch=500,
    )
    found = kappa(result.model)
    print(f"kappa {found:.4f} instead of {KAPPA}: relative error {abs(found / KAPPA - 1):.1e}")


if __name__ == "__main__":
    main()

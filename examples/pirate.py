"""A PirateNet: a deep network that begins as a linear one, fitted to the initial value, and becomes
nonlinear while it is trained.

    python examples/pirate.py

The equation is that of Burgers, u_t + u u_x = ν u_xx, with a shock that travels: its solution is
u = 1 − tanh((x − t)/2ν). Each block is passed by with the weight 1 − α, where α is learnt and 0 in
the beginning. Wang, Li, Chen and Perdikaris 2024, "PirateNets: physics-informed deep learning with
residual adaptive networks".
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp

import diffop as do

NU, WIDTH, BLOCKS = 0.05, 24, 2
jax.config.update("jax_enable_x64", True)
domain = do.pde.SpaceTime(do.pde.Box((-1.0,), (1.0,)), duration=0.5)


def solution(x):
    return 1 - jnp.tanh((x[0] - x[1]) / (2 * NU))


class Block(eqx.Module):
    layers: list[eqx.nn.Linear]
    alpha: jax.Array

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.layers = [eqx.nn.Linear(WIDTH, WIDTH, key=each) for each in keys]
        self.alpha = jnp.zeros(())

    def __call__(self, h, first, second):
        z = h
        for layer in self.layers[:2]:
            gate = jnp.tanh(layer(z))
            z = gate * first + (1 - gate) * second
        return self.alpha * jnp.tanh(self.layers[2](z)) + (1 - self.alpha) * h


class PirateNet(eqx.Module):
    frequencies: jax.Array
    encoders: list[eqx.nn.Linear]
    blocks: list[Block]
    last: jax.Array

    def __init__(self, dim, key):
        waves, encoders, blocks = jax.random.split(key, 3)
        self.frequencies = 2 * jax.random.normal(waves, (WIDTH // 2, dim))
        keys = jax.random.split(encoders, 2)
        self.encoders = [eqx.nn.Linear(WIDTH, WIDTH, key=each) for each in keys]
        self.blocks = [Block(each) for each in jax.random.split(blocks, BLOCKS)]
        self.last = jnp.zeros(WIDTH)

    def features(self, x):
        angles = self.frequencies @ x
        start = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)])
        first, second = (jnp.tanh(encoder(start)) for encoder in self.encoders)
        h = start
        for block in self.blocks:
            h = block(h, first, second)
        return h

    def __call__(self, x):
        return self.last @ self.features(x)

    def fitted(self, points, values):
        """With the last layer that is best for given values, by least squares."""
        last = jnp.linalg.lstsq(jax.vmap(self.features)(points), values, rcond=1e-3)[0]
        return eqx.tree_at(lambda net: net.last, self, last)


def main() -> None:
    parser = argparse.ArgumentParser(description="solve Burgers' equation with a PirateNet")
    parser.add_argument("--steps", type=int, default=100, help="steps of Levenberg and Marquardt")
    steps = parser.parse_args().steps
    u = do.Value()
    burgers = do.Partial(1) + u * do.Partial(0) - NU * do.Partial(0, order=2)
    initial = do.pde.Initial(solution, on=domain)
    ends = [do.pde.Dirichlet(solution, on=domain.face(0, end)) for end in ("lower", "upper")]
    conditions = do.pde.Conditions(initial, *ends)
    equation = do.equations.Equation.linear(burgers, lambda x: 0.0, conditions=conditions)
    loss = do.losses.ResidualLoss(
        equation, 200, probes="exact", points=domain.sample, data_batch=40, data_weight=100.0
    )
    start = domain.initial.sample(jax.random.key(2), 200)
    net = PirateNet(2, jax.random.key(0)).fitted(start, jax.vmap(solution)(start))
    result = do.train.fit(
        net,
        loss,
        do.methods.GaussNewton(1e-2, adaptive=True),
        steps,
        key=jax.random.key(1),
        observe=lambda step, net, losses: print(
            f"step {step:4d}  loss {losses[-1]:.2e}  alpha "
            + " ".join(f"{block.alpha:.2f}" for block in net.blocks)
        ),
        steps_per_dispatch=50,
    )
    points = domain.sample(jax.random.key(3), 2000)
    found, expected = jax.vmap(result.model)(points), jax.vmap(solution)(points)
    error = jnp.linalg.norm(found - expected) / jnp.linalg.norm(expected)
    print(f"relative L2 error {error:.1e} after {result.seconds:.0f} s")


if __name__ == "__main__":
    main()

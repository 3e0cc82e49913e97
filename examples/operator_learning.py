"""A DeepONet without data: the solutions of −s'' = a, s(0) = s(1) = 0, for all sources a at once.

    python examples/operator_learning.py

The branch network sees the source at 30 points, the trunk network the point. The loss is the mean
square of the equation's residual over random sources and points. Lu et al. 2021, "Learning
nonlinear operators via DeepONet"; Wang, Wang and Perdikaris 2021, "Learning the solution operator
of parametric partial differential equations with physics-informed DeepONets".
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import diffop as do

MODES, SENSORS, WIDTH = 5, 30, 64
waves = jnp.pi * jnp.arange(1, MODES + 1)


def source(coefficients, y):
    return coefficients @ jnp.sin(waves * y)


def solution(coefficients, y):
    return (coefficients / waves**2) @ jnp.sin(waves * y)


def random_sources(key, count):
    """The coefficients of sine series that decay."""
    return jax.random.normal(key, (count, MODES)) / jnp.arange(1, MODES + 1)


class DeepONet(eqx.Module):
    branch: eqx.nn.MLP
    trunk: eqx.nn.MLP

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.branch = eqx.nn.MLP(SENSORS, WIDTH, WIDTH, 1, jnp.tanh, key=first)
        self.trunk = eqx.nn.MLP(1, WIDTH, WIDTH, 2, jnp.tanh, key=second)

    def __call__(self, coefficients):
        """The solution for a source, as a function of the point."""
        sensors = jnp.linspace(0, 1, SENSORS)
        weights = self.branch(jax.vmap(lambda y: source(coefficients, y))(sensors))
        return lambda y: y[0] * (1 - y[0]) * (weights @ self.trunk(y))


def loss(net, key):
    first, second = jax.random.split(key)
    points = jax.random.uniform(second, (32, 1))

    def squares(coefficients):
        second_derivative = do.Laplacian().exact(net(coefficients))

        def missed(y):
            return second_derivative(y) + source(coefficients, y[0])

        return jnp.mean(jax.vmap(missed)(points) ** 2)

    return jnp.mean(jax.vmap(squares)(random_sources(first, 64)))


def main() -> None:
    parser = argparse.ArgumentParser(description="learn the solution operator of −s'' = a")
    parser.add_argument("--steps", type=int, default=5000, help="steps of Adam")
    steps = parser.parse_args().steps
    result = do.train.fit(
        DeepONet(jax.random.key(0)),
        loss,
        optax.adam(optax.cosine_decay_schedule(3e-3, steps)),
        steps,
        key=jax.random.key(1),
        observe=lambda step, _, losses: print(f"step {step:4d}  loss {losses[-1]:.2e}"),
        steps_per_dispatch=1000,
    )
    unseen, points = random_sources(jax.random.key(2), 200), jnp.linspace(0, 1, 101)[:, None]
    found = jax.vmap(lambda c: jax.vmap(result.model(c))(points))(unseen)
    expected = jax.vmap(lambda c: jax.vmap(lambda y: solution(c, y[0]))(points))(unseen)
    error = jnp.linalg.norm(found - expected) / jnp.linalg.norm(expected)
    print(f"relative L2 error {error:.1e} on 200 new sources, after {result.seconds:.0f} s")


if __name__ == "__main__":
    main()

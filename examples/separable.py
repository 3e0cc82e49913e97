"""A separable network (SPINN): a Poisson problem on 32³ points from 96 evaluations.

    python examples/separable.py

u(x, y, z) = Σ_r f_r(x) g_r(y) h_r(z), with a network for each coordinate. On a grid u and Δu are
products of what the networks and their second derivatives are along the axes. Cho et al. 2023,
"Separable physics-informed neural networks".
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import diffop as do

RANK, SIDE = 24, 32


def solution(x):
    """No finite sum of products."""
    return jnp.prod(1 - x**2) * jnp.sin(x[0] + 2 * x[1] * x[2]) * jnp.exp(x[2] / 2)


source = do.Laplacian().exact(solution)


class Separable(eqx.Module):
    """Networks of one coordinate each, zero at −1 and 1."""

    nets: list[eqx.nn.MLP]

    def __init__(self, dim, key):
        keys = jax.random.split(key, dim)
        self.nets = [eqx.nn.MLP(1, RANK, 32, 2, jnp.tanh, key=each) for each in keys]

    def factors(self, axis):
        return lambda s: (1 - s[0] ** 2) * self.nets[axis](s)

    def on_grid(self, axes):
        """The values and the Laplacian on the grid of the points of three axes."""
        each = do.exact({"value": do.Identity(), "second": do.Laplacian()})
        found = [jax.vmap(each(self.factors(i)))(s[:, None]) for i, s in enumerate(axes)]
        x, y, z = (f["value"] for f in found)
        xx, yy, zz = (f["second"] for f in found)

        def product(*factors):
            return jnp.einsum("ir,jr,kr->ijk", *factors)

        return product(x, y, z), product(xx, y, z) + product(x, yy, z) + product(x, y, zz)


def on_grid(function, axes):
    points = jnp.stack(jnp.meshgrid(*axes, indexing="ij"), axis=-1)
    return jax.vmap(jax.vmap(jax.vmap(function)))(points)


def loss(u, key):
    axes = jax.random.uniform(key, (3, SIDE), minval=-1.0)
    _, laplacian = u.on_grid(axes)
    return jnp.mean((laplacian - on_grid(source, axes)) ** 2)


def main() -> None:
    parser = argparse.ArgumentParser(description="solve a Poisson problem on a grid")
    parser.add_argument("--steps", type=int, default=2000, help="steps of Adam")
    steps = parser.parse_args().steps
    result = do.train.fit(
        Separable(3, jax.random.key(0)),
        loss,
        optax.adam(optax.cosine_decay_schedule(5e-3, steps)),
        steps,
        key=jax.random.key(1),
        observe=lambda step, _, losses: print(f"step {step:4d}  loss {losses[-1]:.2e}"),
        steps_per_dispatch=500,
    )
    axes = jnp.broadcast_to(jnp.linspace(-1, 1, 41), (3, 41))
    found, expected = result.model.on_grid(axes)[0], on_grid(solution, axes)
    error = jnp.linalg.norm(found - expected) / jnp.linalg.norm(expected)
    print(f"relative L2 error {error:.1e} after {result.seconds:.0f} s")


if __name__ == "__main__":
    main()

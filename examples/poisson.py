"""Your own Poisson problem: Δu = f on the unit disc, u = 0 on its rim, in forty lines.

    python examples/poisson.py

The parts of `diffop.train` are used one by one; `diffop.pde` and the command line do the same for
the problems that come with the library.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import diffop as do


def solution(x):
    return (1 - x @ x) * jnp.exp(x[0]) * jnp.cos(x[1])


source = do.Laplacian().exact(solution)  # what the solution has to be to satisfy the equation


def loss(u, key):
    """The mean squared residual at fresh points of the disc."""
    points = do.pde.unit_ball_by_radius(key, 100, 2)
    laplacian = do.Laplacian().exact(u)
    return jnp.mean(jax.vmap(lambda x: laplacian(x) - source(x))(points) ** 2)


def main() -> None:
    net = eqx.nn.MLP(2, "scalar", 32, depth=2, activation=jnp.tanh, key=jax.random.key(0))
    steps = 2000
    result = do.train.fit(
        do.nn.ZeroOnUnitSphere(net),
        loss,
        optax.adam(optax.linear_schedule(1e-2, 0.0, steps)),
        steps,
        key=jax.random.key(1),
        observe=lambda step, _, losses: print(f"step {step:4d}  loss {losses[-1]:.2e}"),
        steps_per_dispatch=500,
    )
    points = do.pde.unit_ball_by_radius(jax.random.key(2), 1000, 2)
    u, v = jax.vmap(result.model)(points), jax.vmap(solution)(points)
    print(f"relative L2 error {jnp.linalg.norm(u - v) / jnp.linalg.norm(v):.1e}")


if __name__ == "__main__":
    main()

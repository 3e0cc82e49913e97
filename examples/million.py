"""Laplacians in a million dimensions: exact, and from sixteen random jets, beside the function.

    python examples/million.py

No array has points × jets × dimensions numbers: a basis vector is a position until the first layer,
and the exact operator goes on behind it with as many directions as the layer is wide.
"""

import argparse
import time

import jax
import jax.numpy as jnp

import diffop as do


def seconds(function, points):
    """Of the second call: the first one compiles."""
    jax.block_until_ready(function(points))
    start = time.perf_counter()
    jax.block_until_ready(function(points))
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="Laplacians in many dimensions")
    parser.add_argument("--dim", type=int, default=1_000_000, help="number of coordinates")
    parser.add_argument("--points", type=int, default=20, help="number of points")
    arguments = parser.parse_args()

    net = do.nn.WeightSharedMLP(arguments.dim, 50, width=128, depth=3, key=jax.random.key(0))
    u = do.nn.ZeroOnUnitSphere(net)
    points = do.pde.unit_ball_by_radius(jax.random.key(1), arguments.points, arguments.dim)
    laplacian = do.Laplacian()
    ways = {
        "u itself": jax.jit(jax.vmap(u)),
        "Δu from 16 jets": jax.jit(jax.vmap(laplacian.estimate(jax.random.key(2), 16)(u))),
        "Δu exactly": jax.jit(jax.vmap(laplacian.exact(u))),
    }
    for name, function in ways.items():
        value = jnp.mean(function(points))
        print(f"{name:<16} {value:+.3e} in the mean, {seconds(function, points):.3f} s")


if __name__ == "__main__":
    main()

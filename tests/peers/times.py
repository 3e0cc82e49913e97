"""How long programs take with another import: ours over theirs, in turns, in one process.

.venv-peers/bin/python -m tests.peers.times
"""

import functools
import statistics
import time

import folx
import jax
import jax.numpy as jnp

from diffop import compat

from .flow import by_diffop, by_reverse_mode, log_density
from .test_folx import program

RUNS = 5

DIMENSION, WIDTH, POINTS = 1000, 128, 16


def network(weights, x):
    *hidden, last = weights
    for matrix in hidden:
        x = jnp.tanh(matrix @ x)
    return last @ x


def draw(*sizes):
    keys = jax.random.split(jax.random.key(0), len(sizes))
    pairs = zip(keys, sizes, strict=True)
    return [jax.random.normal(key, size) / size[-1] ** 0.5 for key, size in pairs]


def energies(package, weights, points):
    def kinetic(x):
        result = package.forward_laplacian(functools.partial(network, weights))(x)
        return -0.5 * (result.laplacian + jnp.sum(result.jacobian.dense_array**2))

    return jax.vmap(kinetic)(points)


def laplacians(package, weights, points):
    forward = package.forward_laplacian(functools.partial(network, weights))
    return jax.vmap(lambda x: forward(x).laplacian)(points)


def of_electrons(package, weights, walkers):
    return program(package).local_energies(weights, walkers, 0, len(walkers))


def densities(divergence, weights, points):
    return jax.vmap(functools.partial(log_density, divergence, weights))(points)


PACKAGES = compat.folx, folx


def cases():
    """Names, functions of a package or of something else that is ours or theirs, these two,
    parameters and points.
    """
    weights = draw((WIDTH, DIMENSION), (WIDTH, WIDTH), (WIDTH,))
    points = jax.random.normal(jax.random.key(1), (POINTS, DIMENSION))
    electrons = program(folx).init(jax.random.key(0), 10, width=64, heads=4, blocks=2)
    walkers = jax.random.normal(jax.random.key(1), (POINTS, 10, 3))
    yield "a network in 1,000 dimensions, its Laplacian", laplacians, PACKAGES, weights, points
    yield "a network in 1,000 dimensions, kinetic energy", energies, PACKAGES, weights, points
    yield "10 electrons with attention, kinetic energy", of_electrons, PACKAGES, electrons, walkers
    weights = draw((64, 32), (64, 64), (32, 64))
    points = jax.random.normal(jax.random.key(1), (64, 32))
    ways = by_diffop, by_reverse_mode
    yield "Diffrax, a flow in 32 dimensions, log-density", densities, ways, weights, points


def seconds(function, *args):
    start = time.perf_counter()
    jax.block_until_ready(function(*args))
    return time.perf_counter() - start


def ratio(make, ways, weights, points):
    """The median time of ours over that of theirs."""
    both = [jax.jit(make(way)) for way in ways]
    for function in both:
        seconds(function, weights, points)
    times = [[seconds(function, weights, points) for function in both] for _ in range(RUNS)]
    ours, theirs = (statistics.median(each) for each in zip(*times, strict=True))
    return ours / theirs


def main():
    for name, function, ways, weights, points in cases():
        value = lambda p, f=function: functools.partial(f, p)
        square = lambda p, f=function: jax.grad(lambda w, x: jnp.mean(f(p, w, x) ** 2))
        found = [ratio(make, ways, weights, points) for make in (value, square)]
        print(f"{name:<48} value {found[0]:.2f}  gradient {found[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()

"""The standard errors of all ways to estimate a Laplacian at equal cost, and which is chosen.

    python -m benchmarks.studies.variance --picture docs/devdocs/pictures/variance.png

The Hessians have the spectra of the literature on trace estimation (flat, polynomial and
exponential decay), a large diagonal, a large off-diagonal part, or are those of a trained network.
Every way may spend the operations of `--draws` sparse draws at a point. `diffop.choose` chooses
on a small pilot, whose operations are counted as if the estimates after it were for a thousand
points.
"""

import argparse
import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

import diffop as do

from ..harness.table import Table

DIM = 200
POINTS = 1_000
FIXED = ("sparse", "stratified", "rademacher", "gaussian", "spherical", "orthogonal")
"""Probes whose jets are the same whatever u is, and that have a standard error."""


class Case(NamedTuple):
    """A function, and points where its Laplacian is wanted."""

    name: str
    u: Callable[[Array], Array]
    decays: bool


def rotated(spectrum: Array) -> Callable[[Array], Array]:
    """A quadratic whose Hessian has these eigenvalues, through four rotations one after the other,
    so that a sparse direction is no cheaper than a dense one for most of the way.
    """
    keys = jax.random.split(jax.random.key(0), 4)
    layers = [jax.random.orthogonal(key, spectrum.size) for key in keys]

    def u(x: Array) -> Array:
        for layer in layers:
            x = layer @ x
        return 0.5 * jnp.sum(spectrum * x**2)

    return u


def quadratic(hessian: Array) -> Callable[[Array], Array]:
    """A quadratic with this Hessian, as a sum of squares through its eigenvectors."""
    values, vectors = jnp.linalg.eigh(hessian)
    forward = jax.random.orthogonal(jax.random.key(1), hessian.shape[0])
    # forwards and back again: as many dense layers as `rotated` has
    return lambda x: 0.5 * jnp.sum(values * (vectors.T @ (forward.T @ (forward @ x))) ** 2)


def trained(dim: int, steps: int = 2_000) -> Callable[[Array], Array]:
    """A network that was trained on the two-body Allen-Cahn equation."""
    problem = do.pde.ManyBody("allen-cahn", 2, dim, key=jax.random.key(0))
    net = eqx.nn.MLP(dim, "scalar", 128, 3, activation=jnp.tanh, key=jax.random.key(1))
    loss = do.losses.ResidualLoss(problem, batch=100, n=8, probes="sparse")
    parameters, static = eqx.partition(problem.ansatz(net), eqx.is_inexact_array)
    adam = optax.adam(optax.linear_schedule(5e-3, 0.0, steps))

    def step(carry, key):
        parameters, state = carry
        gradient = jax.grad(lambda p: loss(eqx.combine(p, static), key))(parameters)
        updates, state = adam.update(gradient, state)
        return (eqx.apply_updates(parameters, updates), state), None

    keys = jax.random.split(jax.random.key(2), steps)
    start = (parameters, adam.init(parameters))
    (parameters, _), _ = jax.jit(lambda start: jax.lax.scan(step, start, keys))(start)
    return eqx.combine(parameters, static)


def cases(dim: int) -> list[Case]:
    k = jnp.arange(dim, dtype=jnp.float32)
    noise = jax.random.normal(jax.random.key(3), (dim, dim)) / math.sqrt(dim)
    symmetric = (noise + noise.T) / 2
    diagonal = jnp.diag(jax.random.exponential(jax.random.key(4), (dim,)) ** 2)
    off = symmetric - jnp.diag(jnp.diagonal(symmetric))
    return [
        Case("flat", rotated(3 - 2 * k / (dim - 1)), False),
        Case("polynomial decay", rotated((k + 1) ** -2.0), True),
        Case("exponential decay", rotated(0.7**k), True),
        Case("large diagonal", quadratic(3 * diagonal + 0.1 * off), False),
        Case("large off-diagonal", quadratic(jnp.eye(dim) + 3 * off), False),
        Case("trained network", trained(dim), False),
    ]


class Result(NamedTuple):
    """Standard errors by way at equal cost, the way that was taken, and the pilot's share."""

    case: Case
    errors: dict[str, float]
    taken: str
    pilot: float


def measure(case: Case, dim: int, draws: int) -> Result:
    points = do.pde.unit_ball_by_radius(jax.random.key(5), 16, dim)
    long = do.choose(do.Laplacian(), jax.random.key(6), draws, repeats=32)
    every = long(case.u)(points)
    short = do.choose(do.Laplacian(), jax.random.key(7), draws, repeats=2)
    choice = short(case.u)(points[:4])
    errors = {way.name: way.standard_error or 0.0 for way in every.ways}
    share = 8 * (len(choice.ways) - 1) / POINTS
    return Result(case, errors, choice.chosen.name, share)


def show(results: list[Result]) -> None:
    ways = list(dict.fromkeys(way for result in results for way in result.errors))
    header = ("Hessian", *ways, "taken", "taken / best fixed", "Rademacher / taken, variance")
    print(Table("variance", header, [_cells(result, ways) for result in results]).markdown())


def _cells(result: Result, ways: list[str]) -> tuple[str, ...]:
    taken = result.errors[result.taken] * math.sqrt(1 + result.pilot)
    fixed = [result.errors[way] for way in FIXED if way in result.errors]
    ratio = taken / min(fixed) if min(fixed) else math.nan
    plain = result.errors.get("rademacher", math.nan)
    gain = (plain / taken) ** 2 if taken else math.inf
    errors = [f"{result.errors[way]:.3g}" if way in result.errors else "" for way in ways]
    return (result.case.name, *errors, result.taken, f"{ratio:.2f}", f"{gain:.3g}")


def draw(results: list[Result], path: str) -> None:
    """The table as a picture: standard errors over that of Rademacher probes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ways = [way for way in dict.fromkeys(w for r in results for w in r.errors) if way != "exact"]
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    for number, way in enumerate(ways):
        ratios = [r.errors.get(way, math.nan) / r.errors["rademacher"] for r in results]
        places = np.arange(len(results)) + (number - len(ways) / 2) * 0.08
        axes.plot(places, np.maximum(ratios, 1e-3), "o", label=way, markersize=5)
    for number, result in enumerate(results):
        taken = result.errors[result.taken] / result.errors["rademacher"]
        axes.plot(number, max(taken, 1e-3), "k_", markersize=44)
    axes.axhline(1, color="grey", linewidth=0.5)
    axes.set(yscale="log", ylabel="standard error / Rademacher's")
    axes.set_xticks(range(len(results)), [result.case.name for result in results])
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dim", type=int, default=DIM)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--picture", help="a file to draw the table in")
    options = parser.parse_args()
    results = [measure(case, options.dim, options.draws) for case in cases(options.dim)]
    show(results)
    if options.picture:
        draw(results, options.picture)


if __name__ == "__main__":
    main()

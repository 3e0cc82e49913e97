"""Kinetic energies of few and of many electrons beside folx', one walker and several.

    python -m benchmarks.studies.electrons
    python -m benchmarks.studies.electrons --electrons 100 --walkers 4 --of scores

The programs differ in what their entries see:

- `sum`: `mean(exp(r rᵀ) r)`, in two dimensions. Each score sees two electrons.
- `scores`: two layers of softmax attention whose queries and keys see one electron, and whose
    values see all, as in LapNet (Li et al. 2024, arXiv 2307.08214).
- `attention`, `determinants`: the wave functions of `subjects/attention.py`.

diffop, folx with a sparsity threshold of six, and folx without one take turns in one process. Times
are medians of processor time; ratios are folx over diffop. Compiling includes tracing. Values of
all three are compared first.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import folx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import diffop as do

from ..harness.machine import machine
from ..harness.report import in_words
from ..subjects import attention

Scalar = Float[Array, ""]
Walker = Float[Array, "electrons dim"]
WIDTH = 32
TURNS = 7
WAYS = {"diffop": (do.compat.folx, 6), "folx, sparse": (folx, 6), "folx, dense": (folx, 0)}


def sum_of_scores(weights: Any, r: Walker) -> Scalar:
    return weights * jnp.mean(jnp.exp(r @ r.T) @ r)


def scores_of_one(weights: Any, r: Walker) -> Scalar:
    features = jnp.tanh(r @ weights["embedding"])
    h = features
    for query, key, value in weights["blocks"]:
        q, k, v = features @ query, features @ key, jnp.tanh(h) @ value
        h = h + jax.nn.softmax(q @ k.T / WIDTH**0.5, axis=-1) @ v
    return jnp.mean(jnp.tanh(h))


def _weights_of_scores(electrons: int) -> Any:
    del electrons
    keys = iter(jax.random.split(jax.random.key(0), 7))

    def draw(*shape: int) -> Array:
        return jax.random.normal(next(keys), shape) / shape[0] ** 0.5

    blocks = [tuple(draw(WIDTH, WIDTH) for _ in range(3)) for _ in range(2)]
    return {"embedding": draw(3, WIDTH), "blocks": blocks}


PROGRAMS: dict[str, tuple[Callable[..., Scalar], Callable[[int], Any], int]] = {
    "sum": (sum_of_scores, lambda electrons: jnp.ones(()), 2),
    "scores": (scores_of_one, _weights_of_scores, 3),
    "attention": (attention.log_psi, attention.parameters, 3),
    "determinants": (attention.log_psi, partial(attention.parameters, attends=False), 3),
}


def energies(way: str, log_psi: Callable[..., Scalar]) -> Callable[..., Array]:
    """−½ (Δ + |∇|²) log ψ of all walkers; a single one is not mapped."""
    package, threshold = WAYS[way]

    def energy(weights: Any, r: Walker) -> Scalar:
        out = package.forward_laplacian(partial(log_psi, weights), threshold)(r)
        return -0.5 * (out.laplacian + jnp.sum(out.jacobian.dense_array**2))

    def of_all(weights: Any, walkers: Float[Array, "walkers electrons dim"]) -> Array:
        if len(walkers) == 1:
            return energy(weights, walkers[0])[None]
        return jax.vmap(partial(energy, weights))(walkers)

    return of_all


def agree(log_psi: Callable[..., Scalar], weights: Any, walkers: Array) -> None:
    """Raises an AssertionError unless all ways agree at one walker, in double precision:
    determinants of many electrons lose too many digits in single.
    """
    with jax.enable_x64(True):
        weights, walkers = jax.tree.map(
            lambda array: jnp.asarray(np.asarray(array), jnp.float64), (weights, walkers[:1])
        )
        first, *others = [jax.jit(energies(way, log_psi))(weights, walkers) for way in WAYS]
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-8)


def timed(programs: dict[str, Any], operands: Any) -> Iterator[tuple[float, float, float]]:
    """Of each: milliseconds, how many times diffop's, seconds of tracing and compiling."""
    compiling = {}
    for name, program in programs.items():
        start = time.process_time()
        jax.block_until_ready(program(*operands))
        compiling[name] = time.process_time() - start
    turns: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(TURNS):
        for name, program in programs.items():
            jax.block_until_ready(program(*operands))  # finds its own memory
            start = time.process_time()
            jax.block_until_ready(program(*operands))
            turns[name].append(time.process_time() - start)
    for name, times in turns.items():
        ratios = [a / b for a, b in zip(times, turns["diffop"], strict=True)]
        yield 1e3 * statistics.median(times), statistics.median(ratios), compiling[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--of", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--electrons", type=int, nargs="+", default=[4, 10, 30])
    parser.add_argument("--walkers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--parts", nargs="+", default=["value", "gradient"])
    options = parser.parse_args()
    print(in_words(machine()))
    print(f"| of | electrons | walkers | part | {' | '.join(WAYS)} | compiling |")
    print("|---" * (5 + len(WAYS)) + "|")
    for name, electrons in itertools.product(options.of, options.electrons):
        log_psi, parameters, dim = PROGRAMS[name]
        weights = parameters(electrons)
        shape = max(options.walkers), electrons, dim
        walkers = jax.random.normal(jax.random.key(1), shape) / 3
        agree(log_psi, weights, walkers)
        for count, part in itertools.product(options.walkers, options.parts):
            programs = {way: jax.jit(_part(energies(way, log_psi), part)) for way in WAYS}
            rows = list(timed(programs, (weights, walkers[:count])))
            times = [f"{rows[0][0]:.3g} ms", *(f"{ratio:.2f}" for _, ratio, _ in rows[1:])]
            compiling = " / ".join(f"{seconds:.1f}" for *_, seconds in rows) + " s"
            cells = [name, str(electrons), str(count), part, *times, compiling]
            print(f"| {' | '.join(cells)} |", flush=True)


def _part(of_all: Callable[..., Array], part: str) -> Callable[..., Any]:
    if part == "value":
        return of_all
    return jax.grad(lambda weights, walkers: jnp.mean(of_all(weights, walkers) ** 2))


if __name__ == "__main__":
    main()

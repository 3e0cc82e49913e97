"""The exact Laplacian of an MLP: diffop beside other ways in JAX, all in one process.

    python benchmarks/laplacian.py --dim 50 --points 100

Prints a table; see benchmarks/README.md for what is measured.
"""

import argparse
import importlib.metadata
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import jet

import diffop as do

Function = Callable[[jax.Array], jax.Array]


def nested(u: Function) -> Function:
    """Forward over reverse: a Hessian-vector product for each basis vector."""

    def laplacian(x: jax.Array) -> jax.Array:
        def second(v: jax.Array) -> jax.Array:
            return v @ jax.jvp(jax.grad(u), (x,), (v,))[1]

        return jnp.sum(jax.vmap(second)(jnp.eye(x.size)))

    return laplacian


def one_hot_jets(u: Function) -> Function:
    """`jax.experimental.jet`: a second-order jet for each basis vector."""

    def laplacian(x: jax.Array) -> jax.Array:
        def second(v: jax.Array) -> jax.Array:
            return jet.jet(u, (x,), ([v, jnp.zeros_like(v)],))[1][1]

        return jnp.sum(jax.vmap(second)(jnp.eye(x.size)))

    return laplacian


def forward_laplacian(u: Function) -> Function:
    """The forward Laplacian of the package folx."""
    import folx  # optional  # pyright: ignore[reportMissingImports]

    return lambda x: folx.forward_laplacian(u)(x).laplacian


def methods() -> dict[str, Callable[[Function], Function]]:
    """All methods that can be run here; ratios are to the first."""
    found = {"nested forward over reverse": nested, "jax.experimental.jet": one_hot_jets}
    if importlib.util.find_spec("folx") is not None:
        found["folx"] = forward_laplacian
    return {**found, "diffop": do.Laplacian().exact}


def network(dim: int) -> Any:
    return eqx.nn.MLP(dim, "scalar", 128, depth=3, activation=jnp.tanh, key=jax.random.key(0))


def programs(method: Callable[[Function], Function]) -> tuple[Callable, Callable]:
    """The Laplacian at all points, and the gradient of its mean square by the parameters."""

    def laplacian(parameters: Any, static: Any, points: jax.Array) -> jax.Array:
        return jax.vmap(method(eqx.combine(parameters, static)))(points)

    def gradient(parameters: Any, static: Any, points: jax.Array) -> Any:
        return jax.grad(lambda p: jnp.mean(laplacian(p, static, points) ** 2))(parameters)

    return eqx.filter_jit(laplacian), eqx.filter_jit(gradient)


def interleaved_medians(calls: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The median seconds of each call; the calls take turns, to share the machine's moods."""
    for call in calls:
        jax.block_until_ready(call())
    seconds = np.empty((repeats, len(calls)))
    for row in seconds:
        for column, call in enumerate(calls):
            started = time.perf_counter()
            jax.block_until_ready(call())
            row[column] = time.perf_counter() - started
    return list(np.median(seconds, axis=0))


def main() -> None:
    options = _options()
    points = jax.random.normal(jax.random.key(1), (options.points, options.dim))
    parameters, static = eqx.partition(network(options.dim), eqx.is_inexact_array)
    compiled = {name: programs(method) for name, method in methods().items()}
    _check_agreement([forward(parameters, static, points) for forward, _ in compiled.values()])

    columns = []
    for part in (0, 1):
        calls = [
            lambda program=pair[part]: program(parameters, static, points)
            for pair in compiled.values()
        ]
        columns.append(interleaved_medians(calls, options.repeats))
    print(
        f"Laplacian of an MLP {options.dim} → 128 → 128 → 128 → 1 at {options.points} points, "
        f"float32, {jax.devices()[0].device_kind}, jax {importlib.metadata.version('jax')}\n"
    )
    print("| method | forward, ms | ratio | gradient, ms | ratio |\n|---|---|---|---|---|")
    for name, forward, gradient in zip(compiled, *columns, strict=True):
        cells = [f"{1e3 * forward:.2f}", f"{forward / columns[0][0]:.2f}"]
        cells += [f"{1e3 * gradient:.2f}", f"{gradient / columns[1][0]:.2f}"]
        print(f"| {name} | {' | '.join(cells)} |")


def _check_agreement(results: list[jax.Array]) -> None:
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=1e-3, atol=1e-4)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()

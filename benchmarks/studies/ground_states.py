"""Local energies of `examples/ground_states.py` in a second of processor time, beside folx'.

    python -m benchmarks.studies.ground_states

diffop, folx with a sparsity threshold of six, and folx without one take turns in one process, with
the example's wave function as it starts and its number of walkers. Their energies are compared
first, in double precision. Times are medians; ratios are folx over diffop.
"""

import argparse
import importlib.util
import pathlib
from collections.abc import Callable
from typing import Any

import equinox as eqx
import folx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..harness.machine import machine
from ..harness.report import in_words
from .electrons import Scalar, Walker, timed

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "ground_states.py"
THRESHOLDS = {"diffop": None, "folx, sparse": 6, "folx, dense": 0}


def example() -> Any:
    spec = importlib.util.spec_from_file_location(EXAMPLE.stem, EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def energies(script: Any, system: Any, static: Any, threshold: int | None) -> Callable[..., Array]:
    """Of all walkers: by the example's own function, or with folx's pass in it."""

    def energy(arrays: Any, r: Walker) -> Scalar:
        log_psi = eqx.combine(arrays, static)
        if threshold is None:
            return script.local_energy(system, log_psi, r)
        out = folx.forward_laplacian(log_psi, threshold)(r)
        squares = jnp.sum(out.jacobian.dense_array**2)
        return script.potential(system, r) - 0.5 * (out.laplacian + squares)

    return jax.jit(jax.vmap(energy, in_axes=(None, 0)))


def main() -> None:
    script = example()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", nargs="+", default=["Be"], choices=list(script.SYSTEMS))
    parser.add_argument("--walkers", type=int, default=512)
    options = parser.parse_args()
    print(in_words(machine()))
    print(f"| | way | energies in a second | ratio | compiling |\n{'|---' * 5}|")
    for name in options.systems:
        system = script.SYSTEMS[name]
        network = script.WaveFunction(system, key=jax.random.key(0))
        arrays, static = eqx.partition(network, eqx.is_array)
        walkers = jax.random.normal(jax.random.key(1), (options.walkers, sum(system.spins), 3))
        programs = {
            way: energies(script, system, static, threshold)
            for way, threshold in THRESHOLDS.items()
        }
        with jax.enable_x64(True):
            double = jax.tree.map(
                lambda array: jnp.asarray(np.asarray(array), jnp.float64), (arrays, walkers[:8])
            )
            first, *others = [program(*double) for program in programs.values()]
            for other in others:
                np.testing.assert_allclose(other, first, rtol=1e-8)
        rows = timed(programs, (arrays, walkers))
        for way, (milliseconds, ratio, compiling) in zip(programs, rows, strict=True):
            rate = 1e3 * options.walkers / milliseconds
            print(f"| {name} | {way} | {rate:,.0f} | {ratio:.2f} | {compiling:.1f} s |", flush=True)


if __name__ == "__main__":
    main()

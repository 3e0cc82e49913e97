"""What a dimension costs in training: time of a step and memory, by the number of dimensions.

    python -m benchmarks.studies.dimension --dim 10000 100000 1000000
    JAX_NUM_CPU_DEVICES=8 python -m benchmarks.studies.dimension --dim 100000000 --model 8 \\
        --budget 0

Two-body Allen-Cahn in the unit ball and Adam. The first command makes steps. The second compiles
them for several devices that divide the dimensions, from shapes alone, and reads off how much
memory each of them needs: nothing of that size is made.
"""

import argparse
import itertools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

import diffop as do

from ..harness.machine import machine
from ..harness.report import in_words
from ..harness.table import Table
from ..harness.timing import interleaved
from ..subjects.networks import BASE
from ..subjects.steps import JETS, POINTS

BLOCK = 50
OPTIMISER = optax.adam(1e-3)

_HEADER = (
    "network",
    "Laplacian",
    "d",
    "s / step",
    "bytes / d: weights and Adam",
    "problem",
    "temporary",
    "read and written",
    "GB on a device",
)


class Case(NamedTuple):
    """A network, plain or with weights shared by blocks, and how its Laplacian is taken."""

    block: int
    probes: str

    def __str__(self) -> str:
        return "plain" if self.block == 1 else f"blocks of {self.block}"


NETWORKS = {"plain": 1, "blocks": BLOCK}


@eqx.filter_jit
def _made(case: Case, dim: int, points: int) -> tuple[PyTree, PyTree, PyTree]:
    return _start(case, dim, points)


def _shapes(case: Case, dim: int, points: int) -> tuple[PyTree, PyTree, PyTree]:
    return eqx.filter_eval_shape(_start, case, dim, points)


def _start(case: Case, dim: int, points: int) -> tuple[PyTree, PyTree, PyTree]:
    """The network, the optimiser's state and the loss."""
    problem = do.pde.ManyBody("allen-cahn", 2, dim, key=jax.random.key(0))
    net = do.nn.WeightSharedMLP(dim, case.block, BASE.width, BASE.layers - 1, key=jax.random.key(1))
    u = problem.ansatz(net)
    loss = do.losses.ResidualLoss(problem, batch=points, n=JETS, probes=case.probes)
    return u, OPTIMISER.init(eqx.filter(u, eqx.is_inexact_array)), loss


def measure(case: Case, dim: int, points: int, model: int, budget: float) -> tuple[str, ...]:
    """The cells of a row; without a budget the step is compiled, but not made."""
    made = (_made if budget else _shapes)(case, dim, points)
    arrays, rest = eqx.partition(made, lambda x: isinstance(x, jax.Array | jax.ShapeDtypeStruct))
    carry, loss = arrays[:2], arrays[2]

    def step(carry: PyTree, loss: PyTree, key: jax.Array) -> tuple[PyTree, jax.Array]:
        u, memory, whole = eqx.combine((*carry, loss), rest)
        value, gradient = eqx.filter_value_and_grad(lambda u: whole(u, key))(u)
        updates, memory = OPTIMISER.update(gradient, memory, u)
        return (eqx.filter(eqx.apply_updates(u, updates), eqx.is_array), memory), value

    mesh = jax.make_mesh((model,), ("model",), axis_types=(AxisType.Auto,))
    homes = jax.tree.map(lambda leaf: _home(leaf, -(-dim // case.block), mesh), carry)
    whole = NamedSharding(mesh, PartitionSpec())
    with jax.set_mesh(mesh):
        jitted = jax.jit(
            step, donate_argnums=0, in_shardings=(homes, whole, whole), out_shardings=(homes, whole)
        )
        compiled: Any = jitted.lower(carry, loss, jax.random.key(2)).compile()
    analysis: Any = compiled.memory_analysis()
    temporary, arguments = analysis.temp_size_in_bytes, analysis.argument_size_in_bytes
    seconds = f"{_seconds(compiled, carry, loss, budget):.3g}" if budget else ""
    return (
        str(case),
        case.probes,
        f"{dim:,}",
        seconds,
        f"{_bytes(carry) / dim:,.0f}",
        f"{_bytes(loss) / dim:,.0f}",
        f"{temporary * model / dim:,.0f}",
        f"{compiled.cost_analysis()['bytes accessed'] * model / dim:,.0f}",
        f"{(arguments + temporary) / 1e9:,.3g}",
    )


def _home(leaf: Any, inputs: int, mesh: Mesh) -> NamedSharding:
    """As `diffop.train.shard` does it."""
    names = ("model" if size == inputs else None for size in leaf.shape)
    return NamedSharding(mesh, PartitionSpec(*names))


def _bytes(tree: PyTree) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _seconds(compiled: Any, carry: PyTree, loss: PyTree, budget: float) -> float:
    def step() -> jax.Array:
        nonlocal carry
        carry, value = compiled(carry, loss, jax.random.key(2))
        return value

    return float(np.median(interleaved([step], budget)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dim", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--model", type=int, default=1, help="devices that divide the dimensions")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--probes", nargs="+", default=["sparse", "exact"])
    parser.add_argument(
        "--budget",
        type=float,
        default=10.0,
        help="seconds of steps; 0 to compile from shapes alone",
    )
    options = parser.parse_args()
    print(f"{in_words(machine())}; {options.points} points\n")
    cases = itertools.product(options.networks, options.probes, options.dim)
    lines = [
        measure(Case(NETWORKS[network], probes), dim, options.points, options.model, options.budget)
        for network, probes, dim in cases
    ]
    print(Table("dimension", _HEADER, lines).markdown())


if __name__ == "__main__":
    main()

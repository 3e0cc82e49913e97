"""A training step of the paper, with diffop and with the paper's own method.

    python -m benchmarks.training --dim 100000

Two-body Allen-Cahn in the unit ball, 16 jets. Problem, sampler, source, network and optimiser are
the same; only who estimates the Laplacian differs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import diffop as do

from .command import run_alone
from .comparison import check_agreement
from .estimates import JETS
from .memory import in_own_process, peak_resident_mb
from .peers import Method, stde
from .sizes import Dimension, dimensions
from .subjects import ansatz, ball_points, mlp
from .table import Row
from .timing import interleaved_medians
from .trainer import Training

CASE = "training step"


OPS = {"u": do.Identity(), "lap": do.Laplacian()}


class Way(NamedTuple):
    """A way to estimate the residual's {"u": …, "lap": …}, from a key, d and the number of jets."""

    estimator: Callable[[jax.Array, int, int], Method]
    one_draw: bool
    """Whether all points of a step share one draw of jets, rather than each having its own."""


def with_diffop(key: jax.Array, dim: int, n: int) -> Method:
    """As `do.train` does."""
    return do.estimate(OPS, key, n)


def by_baseline(name: str, key: jax.Array, dim: int, n: int) -> Method:
    """As one of diffop's baselines does, with the same draws."""
    return do.baselines.estimate(name, OPS, key, n)


OURS = "diffop"
WAYS = {
    OURS: Way(with_diffop, one_draw=True),
    # The paper's loss has one draw; code that splits its key over the points pays for a draw each.
    "one-hot jets": Way(stde, one_draw=True),
    "one-hot jets at each point": Way(stde, one_draw=False),
}


def training(way: Way, dim: int, points: int) -> Training:
    problem = do.pde.AllenCahnTwoBody(dim, key=jax.random.key(3))

    def loss(u: Any, key: jax.Array, problem: do.pde.AllenCahnTwoBody) -> jax.Array:
        points_key, jets_key = jax.random.split(key)

        def residual(x: jax.Array, key: jax.Array) -> jax.Array:
            return problem.residual(way.estimator(key, dim, JETS)(u)(x), x)

        keys = jets_key if way.one_draw else jax.random.split(jets_key, points)
        residuals = jax.vmap(residual, in_axes=(0, None if way.one_draw else 0))
        return jnp.mean(residuals(problem.sample(points_key, points), keys) ** 2)

    return Training(loss, problem.ansatz(mlp(dim)), problem)


class Peak(NamedTuple):
    """Memory of one method, in 10⁶ bytes: of the process, and of XLA's intermediate arrays."""

    resident: float
    temporary: float


def measure(size: Dimension, points: int, repeats: int) -> list[Row]:
    peaks = {name: in_own_process(peak, name, size.d, points) for name in WAYS}
    _check(size.d)
    trainings = [training(way, size.d, points) for way in WAYS.values()]
    seconds = dict(zip(WAYS, interleaved_medians(trainings, repeats), strict=True))
    rows = []
    for name in list(WAYS)[1:]:
        ours, other = peaks[OURS], peaks[name]
        rows += [
            Row(CASE, size, "time", name, 1e3 * seconds[OURS], 1e3 * seconds[name]),
            Row(CASE, size, "peak memory", name, ours.resident, other.resident, "MB"),
            Row(CASE, size, "temporary memory", name, ours.temporary, other.temporary, "MB"),
        ]
    return rows


def peak(name: str, dim: int, points: int) -> Peak:
    """The memory of a process that trains in one way for three steps."""
    steps = training(WAYS[name], dim, points)
    for _ in range(3):
        jax.block_until_ready(steps())
    return Peak(peak_resident_mb(), steps.temporary_mb)


def _check(dim: int) -> None:
    """On the same coordinates both methods estimate the same."""
    key = jax.random.key(2)
    ways = {OURS: with_diffop(key, dim, JETS), "one-hot jets": by_baseline("jet", key, dim, JETS)}
    check_agreement(ways, ansatz(dim), ball_points(2, dim))


if __name__ == "__main__":
    run_alone(measure, __doc__, sizes=dimensions(100_000), repeats=5)

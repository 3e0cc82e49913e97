"""A training step of the paper, with diffop and with the paper's own method.

    python -m benchmarks.training --dim 100000

Two-body Allen-Cahn in the unit ball, 16 jets. Problem, sampler, source, network and optimiser are
the same; only who estimates the Laplacian differs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import diffop as do

from .command import run_alone
from .comparison import check_agreement
from .estimates import JETS, by_hand
from .memory import in_own_process, peak_resident_mb
from .peers import Function, Method, stde
from .subjects import ansatz, ball_points, mlp
from .table import Row
from .timing import interleaved_medians

CASE = "training step"


class Way(NamedTuple):
    """A way to estimate the residual's {"u": …, "lap": …}, from a key, d and the number of jets."""

    estimator: Callable[[jax.Array, int, int], Method]
    one_draw: bool
    """Whether all points of a step share one draw of jets, rather than each having its own."""


def with_diffop(key: jax.Array, dim: int, n: int) -> Method:
    """As `do.train` does."""
    return do.estimate({"u": do.Identity(), "lap": do.Laplacian()}, key, n)


OURS = "diffop"
WAYS = {
    OURS: Way(with_diffop, one_draw=True),
    # The paper's loss has one draw; code that splits its key over the points pays for a draw each.
    "one-hot jets": Way(stde, one_draw=True),
    "one-hot jets at each point": Way(stde, one_draw=False),
}


@final
class Training:
    """A training under way: each call makes one step and returns the loss before it."""

    def __init__(self, way: Way, dim: int, points: int):
        self._problem = do.pde.AllenCahnTwoBody(dim, key=jax.random.key(3))
        parameters, static = eqx.partition(self._problem.ansatz(mlp(dim)), eqx.is_inexact_array)
        optimiser = optax.adam(optax.linear_schedule(1e-3, 0.0, 10_000))
        self._state = (parameters, optimiser.init(parameters), jax.random.key(4))

        def loss(parameters: Any, problem: do.pde.AllenCahnTwoBody, key: jax.Array) -> jax.Array:
            u = eqx.combine(parameters, static)
            points_key, jets_key = jax.random.split(key)

            def residual(x: jax.Array, key: jax.Array) -> jax.Array:
                return problem.residual(way.estimator(key, dim, JETS)(u)(x), x)

            keys = jets_key if way.one_draw else jax.random.split(jets_key, points)
            residuals = jax.vmap(residual, in_axes=(0, None if way.one_draw else 0))
            return jnp.mean(residuals(problem.sample(points_key, points), keys) ** 2)

        def step(state: Any, problem: do.pde.AllenCahnTwoBody) -> tuple[Any, jax.Array]:
            parameters, memory, key = state
            key, now = jax.random.split(key)
            value, gradient = jax.value_and_grad(loss)(parameters, problem, now)
            updates, memory = optimiser.update(gradient, memory, parameters)
            return (optax.apply_updates(parameters, updates), memory, key), value

        # The state is donated, as training does: parameters are replaced, not copied.
        self._compiled = jax.jit(step, donate_argnums=0).lower(self._state, self._problem).compile()

    def __call__(self) -> jax.Array:
        self._state, value = self._compiled(self._state, self._problem)
        return value

    @property
    def temporary_mb(self) -> float:
        """What XLA sets aside for intermediate arrays, in 10⁶ bytes."""
        analysis = self._compiled.memory_analysis()
        return float("nan") if analysis is None else analysis.temp_size_in_bytes / 1e6


class Peak(NamedTuple):
    """Memory of one method, in 10⁶ bytes: of the process, and of XLA's intermediate arrays."""

    resident: float
    temporary: float


def measure(dim: int, points: int, repeats: int) -> list[Row]:
    peaks = {name: in_own_process(peak, name, dim, points) for name in WAYS}
    _check(dim)
    trainings = [Training(way, dim, points) for way in WAYS.values()]
    seconds = dict(zip(WAYS, interleaved_medians(trainings, repeats), strict=True))
    rows = []
    for name in list(WAYS)[1:]:
        ours, other = peaks[OURS], peaks[name]
        rows += [
            Row(CASE, dim, "time", name, 1e3 * seconds[OURS], 1e3 * seconds[name]),
            Row(CASE, dim, "peak memory", name, ours.resident, other.resident, "MB"),
            Row(CASE, dim, "temporary memory", name, ours.temporary, other.temporary, "MB"),
        ]
    return rows


def peak(name: str, dim: int, points: int) -> Peak:
    """The memory of a process that trains in one way for three steps."""
    training = Training(WAYS[name], dim, points)
    for _ in range(3):
        jax.block_until_ready(training())
    return Peak(peak_resident_mb(), training.temporary_mb)


def _check(dim: int) -> None:
    """On the same coordinates both methods estimate the same."""
    key = jax.random.key(2)

    def ours(u: Function) -> Function:
        return lambda x: with_diffop(key, dim, JETS)(u)(x)["lap"]

    theirs = by_hand(do.Laplacian().estimate(key, JETS), dim)
    check_agreement({OURS: ours, "one-hot jets": theirs}, ansatz(dim), ball_points(2, dim))


if __name__ == "__main__":
    run_alone(measure, __doc__, dims=(100_000,), repeats=5)

"""Errors on fixed random points, and the null model that they have to be compared with."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..pde import AbstractProblem
from ._chunks import largest_divisor

_COORDINATES_AT_ONCE = 2**22
_COORDINATES_IN_ALL = 2 * 10**8


@final
class Errors(NamedTuple):
    """Relative errors of u over a set of points, v being the solution.

    - `rel_l1`: Σ|u − v| / Σ|v|.
    - `rel_l2`: √(Σ(u − v)² / Σv²).
    """

    rel_l1: float
    rel_l2: float


def point_count(dim: int) -> int:
    """How many points to measure an error on: 20,000 up to 10,000 dimensions, fewer above."""
    return min(20_000, max(100, _COORDINATES_IN_ALL // dim // 100 * 100))


@final
class FixedPoints:
    """Fixed test points of a problem, made anew in chunks from a key whenever they are needed.

    Only one chunk of points is in memory at a time. All sums are accumulated in float64.

    **Arguments:**

    - `problem`: it gives the points, the solution and the null model's shape.
    - `key`: a key from `jax.random.key`; it determines the points.
    - `count`: how many points; as many as a pass of a few seconds allows if it is not given.

    **Raises:** `ValueError` if `count` is less than 1.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.AllenCahnTwoBody(10, key=jax.random.key(0))
        points = do.train.FixedPoints(problem, jax.random.key(1), 1000)
        points.null_rel_l2  # what one fitted number achieves
        points.errors(problem.solution)  # Errors(rel_l1=0.0, rel_l2=0.0)
        ```
    """

    def __init__(self, problem: AbstractProblem, key: PRNGKeyArray, count: int | None = None):
        self.count = point_count(problem.dim) if count is None else count
        if self.count < 1:
            raise ValueError(
                f"FixedPoints expects a count of at least 1, got {count}; leave it out for a "
                f"sensible one."
            )
        self._problem = problem
        self._key = key
        self._size = largest_divisor(self.count, _COORDINATES_AT_ONCE // problem.dim)
        self._solution = self._evaluate(problem.solution)
        self.null_rel_l2 = self._null_error()

    def errors(self, u: Callable, fraction: float = 1.0) -> Errors:
        """The relative errors of `u`, a function of one point.

        **Arguments:**

        - `u`: maps a point of shape `(d,)` to a scalar.
        - `fraction`: measure on the first so many of the points only, rounded up to whole chunks.

        **Returns:** `diffop.train.Errors`.
        """
        values = self._evaluate(u, fraction)
        solution = self._solution[: values.size]
        gap = np.abs(values - solution)
        return Errors(
            float(np.sum(gap) / np.sum(np.abs(solution))),
            float(np.linalg.norm(gap) / np.linalg.norm(solution)),
        )

    def _null_error(self) -> float:
        # The best a of min_a |a φ − v|² is (φ·v) / (φ·φ).
        shape = self._evaluate(self._problem.null_shape)
        best = (shape @ self._solution) / (shape @ shape)
        return float(np.linalg.norm(best * shape - self._solution) / np.linalg.norm(self._solution))

    def _evaluate(self, u: Callable, fraction: float = 1.0) -> np.ndarray:
        chunks = -(-int(np.ceil(fraction * self.count)) // self._size)
        parts = [
            np.asarray(_on_chunk(self._problem, u, chunk, self._size), np.float64)
            for chunk in self._chunk_keys(chunks)
        ]
        return np.concatenate(parts)

    def _chunk_keys(self, chunks: int) -> Iterator[PRNGKeyArray]:
        return (jax.random.fold_in(self._key, index) for index in range(chunks))


@eqx.filter_jit
def _on_chunk(
    problem: AbstractProblem, u: Callable, key: PRNGKeyArray, size: int
) -> Float[Array, " size"]:
    return jax.vmap(u)(problem.sample(key, size))

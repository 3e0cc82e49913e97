"""Errors on fixed random points, and the null model that they have to be compared with."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from jax.sharding import Mesh
from jaxtyping import PRNGKeyArray

from ..pde import AbstractProblem
from ..terms.shapes import check_shape
from .mesh import checked, in_context
from .test_points import Measured, measured_points

_COORDINATES_IN_ALL = 2 * 10**8


@final
class Errors(NamedTuple):
    """Relative errors of u over a set of points, v being the solution; of functions with several
    values the sums are over all of them.

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
    """Fixed test points of a problem: random ones, or those at which a reference value is known.

    Random points are made anew in chunks from a key whenever they are needed, so that only one
    chunk is in memory at a time. All sums are accumulated in float64.

    The null model is a·φ, φ being the problem's `null_shape`. Where the solution is known as a
    function, a is the best for it at the points; where reference values are, a is the best for the
    values of u that the problem's conditions prescribe.

    Solutions may be vectors, or pytrees of arrays; φ is as they are.

    **Arguments:**

    - `problem`: a `diffop.pde.AbstractSolvedProblem` or a `diffop.pde.AbstractReferenceProblem`.
    - `key`: a key from `jax.random.key`; it determines the points.
    - `count`: how many random points; as many as a pass of a few seconds allows if it is not given.
    - `mesh`: devices to divide the points over, as for `diffop.train.fit`.

    **Raises:** `ValueError` if `count` is less than 1, if there is no reference value, or if the
    mesh has other axes.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.ManyBody("allen-cahn", 2, 10, key=jax.random.key(0))
        points = do.train.FixedPoints(problem, jax.random.key(1), 1000)
        points.null_rel_l2  # what one fitted number achieves
        points.rel_error  # how exact the solution's values are: 0.0, as they are computed
        points.errors(problem.solution)  # Errors(rel_l1=0.0, rel_l2=0.0)
        ```
    """

    def __init__(
        self,
        problem: Measured,
        key: PRNGKeyArray,
        count: int | None = None,
        *,
        mesh: Mesh | None = None,
    ):
        if count is not None and count < 1:
            raise ValueError(
                f"FixedPoints expects a count of at least 1, got {count}; leave it out for a "
                f"sensible one."
            )
        self._mesh = checked(mesh)
        self._points = measured_points(problem, key, count or point_count(problem.dim))
        self.count = self._points.count
        self.rel_error = self._points.rel_error
        with in_context(self._mesh):
            self._solution = self._points.solution()
            if self._solution.shape[1:] == (1,):
                check_shape("the solution", (1,), "an error", ())
            self.components = self._points.names()
            gap = self._points.null_model(self._solution) - self._solution
        self.null_rel_l2 = float(np.linalg.norm(gap) / np.linalg.norm(self._solution))

    def errors(self, u: Callable, fraction: float = 1.0) -> Errors:
        """The relative errors of `u`, a function of one point.

        **Arguments:**

        - `u`: maps a point of shape `(d,)` to what the solution does: mostly a scalar.
        - `fraction`: measure on the first so many of the points only, rounded up to whole chunks.

        **Returns:** `diffop.train.Errors`.

        **Raises:** `ValueError` if `u` has another shape than the solution.
        """
        return _errors(*self._both(u, fraction))

    def component_errors(self, u: Callable, fraction: float = 1.0) -> dict[str, Errors]:
        """The relative errors of each component of a `u` with several values.

        **Arguments:** as for `errors`.

        **Returns:** `diffop.train.Errors` by the names in `components`, such as `"[0]"` of a
        vector, or `"p"` and `"v[0]"` of a dict; empty for a scalar.

        **Raises:** as `errors`.

        !!! example

            ```python
            import jax, jax.numpy as jnp
            import diffop as do

            class Circle(do.pde.AbstractSolvedProblem):
                name = "circle"
                dim = 1

                def operators(self):
                    return {"u": do.Identity(), "u_t": do.Partial(0)}

                def residual(self, values, x):
                    return values["u_t"] - jnp.stack([-values["u"][1], values["u"][0]])

                def sample(self, key, count):
                    return jax.random.uniform(key, (count, 1))

                def solution(self, x):
                    return jnp.stack([jnp.cos(x[0]), jnp.sin(x[0])])

                def null_shape(self, x):
                    return jnp.array([1.0, 0.0])

            points = do.train.FixedPoints(Circle(), jax.random.key(0), 100)
            points.component_errors(lambda x: jnp.stack([jnp.cos(x[0]), x[0]]))["[0]"]  # 0.0
            ```
        """
        values, solution = self._both(u, fraction)
        columns = (array.reshape(len(array), -1).T for array in (values, solution))
        return {
            name: _errors(mine, other)
            for name, mine, other in zip(self.components, *columns, strict=False)
        }

    def _both(self, u: Callable, fraction: float) -> tuple[np.ndarray, np.ndarray]:
        """The values of u, and the solution's."""
        with in_context(self._mesh):
            values = self._points.evaluate(u, fraction)
        check_shape("u", values.shape[1:], "the solution", self._solution.shape[1:])
        return values, self._solution[: len(values)]


@final
class NoPoints:
    """In place of the points of a problem of whose solution nothing is known: nothing to tell."""

    count = 0
    rel_error = 0.0
    null_rel_l2 = None

    def errors(self, u: Callable, fraction: float = 1.0) -> None:
        return None

    def component_errors(self, u: Callable, fraction: float = 1.0) -> dict[str, Errors]:
        return {}


def test_points(
    problem: AbstractProblem, key: PRNGKeyArray, mesh: Mesh | None
) -> FixedPoints | NoPoints:
    """Those at which the errors of a run are measured."""
    return FixedPoints(problem, key, mesh=mesh) if isinstance(problem, Measured) else NoPoints()


def _errors(values: np.ndarray, solution: np.ndarray) -> Errors:
    gap = np.abs(values - solution)
    return Errors(
        float(np.sum(gap) / np.sum(np.abs(solution))),
        float(np.linalg.norm(gap) / np.linalg.norm(solution)),
    )

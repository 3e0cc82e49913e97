"""Errors on fixed points, and those of the null model for comparison."""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.tree_util import keystr, tree_leaves_with_path as leaves_with_path
from jaxtyping import Array, Inexact, PRNGKeyArray, PyTree

from ..equations.condition import Condition
from ..equations.points import Points, arguments, at_each, check_arguments, chosen, count_of
from ..operators.base import Operator
from ..operators.elementary import Identity
from ..parallel.mesh import checked_mesh, in_context, on_all
from ..parallel.sharding import shard_points
from ..pde import AbstractProblem, AbstractReferenceProblem, AbstractSolvedProblem
from ..scalars import largest_divisor
from ..streams import stream
from ..terms.evaluate import common_kind
from ..terms.shapes import check_shape

_COORDINATES_IN_ALL = 2 * 10**8
_COORDINATES_AT_ONCE = 2**22
_DATA = 20_000

Measured: TypeAlias = AbstractSolvedProblem | AbstractReferenceProblem
"""Problems whose solution is known well enough to measure an error."""


@final
class Errors(NamedTuple):
    """Relative errors of u over a set of points, where v is the solution. For functions with
    several values the sums include all of them.

    - `rel_l1`: $Σ|u − v| / Σ|v|$.
    - `rel_l2`: $√(Σ(u − v)² / Σv²)$.

    If v is 0 at all points they are 0 for a u that is 0 there too, and infinite for any other.
    """

    rel_l1: float
    rel_l2: float


def point_count(dim: int) -> int:
    """How many points to measure an error on: 20,000 up to 10,000 dimensions, fewer above."""
    return min(20_000, max(100, _COORDINATES_IN_ALL // dim // 100 * 100))


@final
class FixedPoints:
    """Fixed test points of a problem: random points, or points with a known reference value.

    Random points are drawn again in chunks from a key whenever they are needed, so that only one
    chunk is in memory at a time. All sums are accumulated in float64.

    The null model is $a·φ$, where $φ$ is the problem's `null_shape`. If the solution is known as a
    function, a is the best factor at the points. If only reference values are known, a is the best
    factor for the values of u that the problem's conditions prescribe.

    Solutions may be vectors, or pytrees of arrays; $φ$ has the same structure. If they are complex,
    so is a.

    **Arguments:**

    - `problem`: a `diffop.pde.AbstractSolvedProblem` or a `diffop.pde.AbstractReferenceProblem`.
    - `key`: a key from `jax.random.key`; it determines the points.
    - `count`: how many random points; by default as many as a pass of a few seconds allows.
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
        points.rel_error  # 0.0: the solution's values are computed, and exact
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
        self._mesh = checked_mesh(mesh)
        if isinstance(problem, AbstractReferenceProblem):
            self._points = ReferencePoints(problem, key)
        else:
            self._points = RandomPoints(problem, key, count or point_count(problem.dim))
        self.count = self._points.count
        self.rel_error = self._points.rel_error
        with in_context(self._mesh):
            self._solution = self._points.solution()
            if self._solution.shape[1:] == (1,):
                check_shape("the solution", (1,), "an error", ())
            self.components = self._points.names()
            null = self._points.evaluate(problem.null_shape)
            check_shape("the null_shape", null.shape[1:], "the solution", self._solution.shape[1:])
            gap = self._points.factor(null, self._solution) * null - self._solution
        self.null_rel_l2 = _relative(np.linalg.norm(gap), np.linalg.norm(self._solution))

    def errors(self, u: Callable, fraction: float = 1.0) -> Errors:
        """The relative errors of `u`, a function of one point.

        **Arguments:**

        - `u`: maps a point of shape `(d,)` to a value like the solution's, usually a scalar.
        - `fraction`: measure only on this first fraction of the points, more than 0 and at most 1,
            rounded up to whole chunks.

        **Returns:** `diffop.train.Errors`.

        **Raises:** `ValueError` if `u` has another shape than the solution, or for another
        fraction.
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
            import jax
            import diffop as do

            problem = do.pde.Kovasznay()
            points = do.train.FixedPoints(problem, jax.random.key(0), 100)
            errors = points.component_errors(lambda x: problem.solution(x).at[2].set(0.0))
            errors["[0]"].rel_l2, errors["[2]"].rel_l2  # 0.0, 1.0
            ```
        """
        values, solution = self._both(u, fraction)
        columns = (array.reshape(len(array), -1).T for array in (values, solution))
        return {
            name: _errors(mine, other)
            for name, mine, other in zip(self.components, *columns, strict=False)
        }

    def _both(self, u: Callable, fraction: float) -> tuple[np.ndarray, np.ndarray]:
        """The values of u, and those of the solution."""
        if not 0 < fraction <= 1:
            raise ValueError(
                f"a fraction of the points is more than 0 and at most 1, got {fraction!r}."
            )
        with in_context(self._mesh):
            values = self._points.evaluate(u, fraction)
        check_shape("u", values.shape[1:], "the solution", self._solution.shape[1:])
        return values, self._solution[: len(values)]


@final
class NoPoints:
    """Takes the place of points if nothing is known about the solution: it reports nothing."""

    count = 0
    rel_error = 0.0
    null_rel_l2 = None

    def errors(self, u: object, fraction: float = 1.0) -> None:
        return None

    def component_errors(self, u: object, fraction: float = 1.0) -> dict[str, Errors]:
        return {}


def _errors(values: np.ndarray, solution: np.ndarray) -> Errors:
    gap = np.abs(values - solution)
    return Errors(
        _relative(np.sum(gap), np.sum(np.abs(solution))),
        _relative(np.linalg.norm(gap), np.linalg.norm(solution)),
    )


def _relative(gap: np.floating, size: np.floating) -> float:
    """The smallest ε with gap ≤ ε size: their quotient. For a solution that is 0 everywhere it is
    0 if the gap is 0, and infinite otherwise.
    """
    if size:
        return float(gap / size)
    return math.inf * float(gap) if gap else 0.0  # ∞, or NaN if the gap is NaN


@final
class RandomPoints:
    """Points of a problem with a known solution, drawn again from a key in chunks."""

    def __init__(self, problem: AbstractSolvedProblem, key: PRNGKeyArray, count: int):
        self.count = count
        self.rel_error = 0.0
        self.size = _chunk_size(problem, count)
        self._problem = problem
        self._key = key

    def solution(self) -> np.ndarray:
        return self.evaluate(self._problem.solution)

    def names(self) -> tuple[str, ...]:
        def values(key: PRNGKeyArray) -> PyTree:
            return self._problem.solution(*arguments(chosen(self._problem.sample(key, 1), 0)))

        return _names_of(jax.eval_shape(values, self._key))

    def factor(self, null: np.ndarray, solution: np.ndarray) -> float | complex:
        """The factor of the null model: the best at the points."""
        return _best_factor(null, solution)

    def evaluate(self, u: Callable, fraction: float = 1.0) -> np.ndarray:
        """The values of u at the first fraction of the points, rounded up to whole chunks. Points
        are the first axis, and entries of a pytree the second.
        """
        chunks = -(-int(np.ceil(fraction * self.count)) // self.size)
        return _in_chunks(
            lambda key: _on_chunk(self._problem, u, key, self.size), self._key, chunks
        )


@final
class ReferencePoints:
    """The points of a problem at which values of the solution are known."""

    def __init__(self, problem: AbstractReferenceProblem, key: PRNGKeyArray):
        self._problem = problem
        self._key = key
        self._reference = problem.reference()
        self.count = len(self._reference.values)
        if self.count != (points := count_of(self._reference.points)):
            raise ValueError(
                f"{problem.name} expects a reference value for each of its {points} points, got "
                f"{self.count}."
            )
        self.rel_error = self._reference.rel_error

    def solution(self) -> np.ndarray:
        return in_double(self._reference.values)

    def names(self) -> tuple[str, ...]:
        return _names_of(self._reference.values[0])

    def evaluate(self, u: Callable, fraction: float = 1.0) -> np.ndarray:
        known = self._reference.operator
        return in_double(_at(known.exact(u), self._reference.points))

    def factor(self, null: np.ndarray, solution: np.ndarray) -> float | complex:
        """Fitted to the data: a number fitted to a single reference value would have no error."""
        size = _chunk_size(self._problem, _DATA)
        data = _in_chunks(
            lambda key: _on_data(self._problem, self._reference.operator, key, size),
            self._key,
            _DATA // size,
            axis=1,
        )
        return _best_factor(*data)


def _best_factor(shape: np.ndarray, values: np.ndarray) -> float | complex:
    """The a that minimises |a φ − v|: (φ̄·v) / (φ̄·φ), over all entries; any a if φ is 0. It is
    complex only if φ or v is.
    """
    size = np.vdot(shape, shape).real
    return (np.vdot(shape, values) / size).item() if size else 0.0


def _names_of(value: PyTree) -> tuple[str, ...]:
    """The names of the entries of a value, in the order of `flat`; none for a scalar."""
    if jax.tree.structure(value) == jax.tree.structure(0) and not value.shape:
        return ()
    return tuple(
        f"{keystr(path, simple=True, separator='.')}{list(index) if index else ''}"
        for path, leaf in leaves_with_path(value)
        for index in np.ndindex(leaf.shape)
    )


def flat_values(u: Callable) -> Callable[..., Array]:
    """u, the entries of a pytree as one vector."""

    def values(*args: PyTree) -> Array:
        value = u(*args)
        alone = jax.tree.structure(value) == jax.tree.structure(0)
        return value if alone else jax.flatten_util.ravel_pytree(value)[0]

    return values


def _chunk_size(problem: AbstractProblem, count: int) -> int:
    return largest_divisor(count, _COORDINATES_AT_ONCE // problem.dim)


def _in_chunks(
    values: Callable[[PRNGKeyArray], Array], key: PRNGKeyArray, chunks: int, axis: int = 0
) -> np.ndarray:
    keys = (stream(key, "chunk", index) for index in range(chunks))
    return np.concatenate([in_double(values(key)) for key in keys], axis)


def in_double(values: Array) -> np.ndarray:
    """Values in double precision, real or complex."""
    array = np.asarray(values)
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


@eqx.filter_jit
def _on_chunk(
    problem: AbstractProblem, u: Callable, key: PRNGKeyArray, size: int
) -> Inexact[Array, "size ..."]:
    return _values(u, shard_points(problem.sample(key, size)))


@eqx.filter_jit
def _at(u: Callable, points: Points) -> Inexact[Array, "count ..."]:
    return _values(u, points)


def _values(u: Callable, points: Points) -> Inexact[Array, "count ..."]:
    check_arguments("u", u, points)
    return on_all(at_each(flat_values(u), points))


@eqx.filter_jit
def _on_data(
    problem: AbstractReferenceProblem, known: Operator, key: PRNGKeyArray, size: int
) -> Inexact[Array, "2 count ..."]:
    """What an operator makes of φ, and its prescribed values, wherever these are prescribed."""
    given = [c for c in problem.conditions(key, size) if isinstance(c, Condition)]
    prescribed = [c for c in given if c.operator == known]
    if not prescribed:
        what = "u" if known == Identity() else f"{known}"
        raise ValueError(
            f"{problem.name} has reference values but no condition on the values of {what}, which "
            f"its null model is fitted to; add one to its conditions."
        )
    shape = known.exact(problem.null_shape)
    shapes, values = (
        jnp.concatenate(each)
        for each in zip(*((at_each(shape, c.points), c.values) for c in prescribed), strict=True)
    )
    kind = common_kind(shapes, values)
    return on_all(jnp.stack([shapes.astype(kind), values.astype(kind)]))

"""The points of a problem at which errors are measured."""

from collections.abc import Callable, Iterator
from typing import TypeAlias, final

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_leaves_with_path as leaves_with_path
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.condition import Condition
from ..equations.points import Points, arguments, at_each, check_arguments, chosen, count_of
from ..losses.sharding import shard_points
from ..operators.elementary import Identity
from ..pde import AbstractProblem, AbstractReferenceProblem, AbstractSolvedProblem
from ..terms.shapes import check_shape
from .chunks import largest_divisor
from .mesh import on_all

_COORDINATES_AT_ONCE = 2**22
_DATA = 20_000

Measured: TypeAlias = AbstractSolvedProblem | AbstractReferenceProblem
"""Problems of whose solution enough is known to measure an error."""


@final
class RandomPoints:
    """Points of a problem whose solution is known as a function, made anew from a key in chunks."""

    def __init__(self, problem: AbstractSolvedProblem, key: PRNGKeyArray, count: int):
        self.count = count
        self.rel_error = 0.0
        self.size = chunk_size(problem, count)
        self._problem = problem
        self._key = key

    def solution(self) -> np.ndarray:
        return self.evaluate(self._problem.solution)

    def names(self) -> tuple[str, ...]:
        def values(key: PRNGKeyArray) -> PyTree:
            return self._problem.solution(*arguments(chosen(self._problem.sample(key, 1), 0)))

        return names_of(jax.eval_shape(values, self._key))

    def null_model(self, solution: np.ndarray) -> np.ndarray:
        shape = self.evaluate(self._problem.null_shape)
        check_shape("the null_shape", shape.shape[1:], "the solution", solution.shape[1:])
        return best_factor(shape, solution) * shape

    def evaluate(self, u: Callable, fraction: float = 1.0) -> np.ndarray:
        """The values of u at the first so many of the points, rounded up to whole chunks; points
        are along the first axis, and entries of a pytree along the second.
        """
        chunks = -(-int(np.ceil(fraction * self.count)) // self.size)
        parts = [
            np.asarray(_on_chunk(self._problem, u, key, self.size), np.float64)
            for key in chunk_keys(self._key, chunks)
        ]
        return np.concatenate(parts)


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
        return np.asarray(self._reference.values, np.float64)

    def names(self) -> tuple[str, ...]:
        return names_of(self._reference.values[0])

    def null_model(self, solution: np.ndarray) -> np.ndarray:
        """Fitted to the data: a number that is fitted to one reference value has no error."""
        shape = self.evaluate(self._problem.null_shape)
        check_shape("the null_shape", shape.shape[1:], "the solution", solution.shape[1:])
        return self._fitted_to_data() * shape

    def evaluate(self, u: Callable, fraction: float = 1.0) -> np.ndarray:
        return np.asarray(_at(u, self._reference.points), np.float64)

    def _fitted_to_data(self) -> float:
        size = chunk_size(self._problem, _DATA)
        parts = [
            np.asarray(_on_data(self._problem, key, size), np.float64)
            for key in chunk_keys(self._key, _DATA // size)
        ]
        return best_factor(*np.concatenate(parts, axis=1))


def measured_points(
    problem: Measured, key: PRNGKeyArray, count: int
) -> RandomPoints | ReferencePoints:
    """`count` random points, or all those at which a reference value is known."""
    if isinstance(problem, AbstractReferenceProblem):
        return ReferencePoints(problem, key)
    return RandomPoints(problem, key, count)


def best_factor(shape: np.ndarray, values: np.ndarray) -> float:
    """The a that minimises |a φ − v|: (φ·v) / (φ·φ), over all entries."""
    shape, values = shape.reshape(-1), values.reshape(-1)
    return float((shape @ values) / (shape @ shape))


def names_of(value: PyTree) -> tuple[str, ...]:
    """Of the entries of a value, in the order of `flat`; none of a scalar."""
    if jax.tree.structure(value) == jax.tree.structure(0) and not value.shape:
        return ()
    return tuple(
        f"{keystr(path, simple=True, separator='.')}{list(index) if index else ''}"
        for path, leaf in leaves_with_path(value)
        for index in np.ndindex(leaf.shape)
    )


def flat(u: Callable) -> Callable[..., Array]:
    """u, the entries of a pytree as one vector."""

    def values(*args: PyTree) -> Array:
        value = u(*args)
        alone = jax.tree.structure(value) == jax.tree.structure(0)
        return value if alone else jax.flatten_util.ravel_pytree(value)[0]

    return values


def chunk_size(problem: AbstractProblem, count: int) -> int:
    return largest_divisor(count, _COORDINATES_AT_ONCE // problem.dim)


def chunk_keys(key: PRNGKeyArray, chunks: int) -> Iterator[PRNGKeyArray]:
    return (jax.random.fold_in(key, index) for index in range(chunks))


@eqx.filter_jit
def _on_chunk(
    problem: AbstractProblem, u: Callable, key: PRNGKeyArray, size: int
) -> Float[Array, "size ..."]:
    return _values(u, shard_points(problem.sample(key, size)))


@eqx.filter_jit
def _at(u: Callable, points: Points) -> Float[Array, "count ..."]:
    return _values(u, points)


def _values(u: Callable, points: Points) -> Float[Array, "count ..."]:
    check_arguments("u", u, points)
    return on_all(at_each(flat(u), points))


@eqx.filter_jit
def _on_data(
    problem: AbstractReferenceProblem, key: PRNGKeyArray, size: int
) -> Float[Array, "2 count ..."]:
    """φ and the prescribed values of u, wherever values of u are prescribed."""
    given = [c for c in problem.conditions(key, size) if isinstance(c, Condition)]
    prescribed = [c for c in given if c.operator == Identity()]
    if not prescribed:
        raise ValueError(
            f"{problem.name} has reference values but no condition on the values of u, which its "
            f"null model is fitted to; add one to its conditions."
        )
    shapes, values = (
        jnp.concatenate(each)
        for each in zip(
            *((at_each(problem.null_shape, c.points), c.values) for c in prescribed), strict=True
        )
    )
    return on_all(jnp.stack([shapes, values]))

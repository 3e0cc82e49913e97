"""The residual of a problem, and its derivatives along some coordinates.

A residual is R(v, x), v being the values at x of the operators D of the equation. Along coordinate
j these values change by ∂_j D u, which is another operator applied to u, so by the chain rule

    ∂_j [R(v(x), x)] = Σ_D ∂R/∂v_D · (∂_j ∘ D) u(x) + ∂R/∂x_j,

the derivative of `residual` along ((∂_j ∘ D) u for every D, e_j). All operators are evaluated
together, so they share their jets: ∂_i² and ∂_j ∂_i² are estimated on the same coordinates i.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, final, runtime_checkable

import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..equations.condition import AnyCondition
from ..operators.base import Operator
from ..operators.elementary import Partial
from ..operators.shapes import residual_of

Coordinates: TypeAlias = Sequence[int | Int[Array, ""]]
"""Python numbers, or traced ones where they are random."""


@runtime_checkable
class Problem(Protocol):
    """What a loss asks of a problem; `diffop.pde.AbstractProblem` has it."""

    @property
    def dim(self) -> int: ...

    def operators(self) -> PyTree: ...

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> PyTree: ...

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]: ...

    def conditions(self, key: PRNGKeyArray, count: int) -> Sequence[AnyCondition]: ...


@final
class Residual(NamedTuple):
    """The residual at a point, and its derivatives along the coordinates that were asked for.

    - `value`: a scalar; of a system an array, or a pytree of these.
    - `gradient`: in the same structure, coordinates along the first axes; None without any.
    """

    value: PyTree
    gradient: PyTree


def operators(problem: Problem, coordinates: Coordinates) -> PyTree:
    """The operators of the equation, and their derivatives along some coordinates."""
    own = problem.operators()

    def derivative(j: int | Int[Array, ""]) -> PyTree:
        return jax.tree.map(
            lambda operator: Partial(j) @ operator,
            own,
            is_leaf=lambda node: isinstance(node, Operator),
        )

    return {"own": own, "derivatives": [derivative(j) for j in coordinates]}


def residual(
    problem: Problem,
    u: Callable,
    coordinates: Coordinates,
    values: PyTree,
    x: Float[Array, " dim"],
) -> Residual:
    """The residual at a point, affine in all the values in which the equation's is.

    **Arguments:**

    - `problem`, `u`: the equation, and what is to solve it.
    - `coordinates`: along which the derivatives are taken.
    - `values`: those of `operators(problem, coordinates)` at the point.
    - `x`: the point.
    """
    value, derivative = jax.linearize(residual_of(problem, u), values["own"], x)
    gradient = [
        derivative(tangents, jax.nn.one_hot(j, x.size, dtype=x.dtype))
        for j, tangents in zip(coordinates, values["derivatives"], strict=True)
    ]
    return Residual(
        value, jax.tree.map(lambda *leaves: jnp.stack(leaves), *gradient) if gradient else None
    )


def norm_of(residual: PyTree) -> Float[Array, ""]:
    """The Euclidean norm of a residual at a point, in units of its largest entry: squares of 1e-22
    and of 1e22 are out of the range of single precision.
    """
    entries, _ = jax.flatten_util.ravel_pytree(residual)
    largest = jnp.max(jnp.abs(entries))
    unit = jnp.where(largest > 0, largest, 1)
    return unit * jnp.linalg.norm(entries / unit)

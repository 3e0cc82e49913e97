"""The random numbers of a loss's call, and the source of its points."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..equations.condition import AnyCondition
from ..equations.equation import AbstractEquation
from ..equations.methods import has_method
from ..equations.points import Points
from ..parallel.sharding import shard_points

Sampler: TypeAlias = Callable[[PRNGKeyArray, int], Points]
PointsFrom: TypeAlias = Sampler | Points | None
"""A function that draws points, or fixed points; None for points of the equation's domain."""


@final
class DrawnPoints(NamedTuple):
    """Everything that is random in a call of a loss.

    - `points`: those of the residual.
    - `data`: the conditions, with their own points.
    - `jets`: the key of the jets.
    - `weights`: of the squares at the points; None for ones.
    """

    points: Points
    data: Sequence[AnyCondition]
    jets: PRNGKeyArray
    weights: Float[Array, " count"] | None = None


def as_where(given: Any) -> Any:
    """Points as arrays, a tuple with one for each argument of u; for a domain its sampler."""
    if given is None or callable(given):
        return given
    if has_method(given, "sample"):
        return given.sample
    return jax.tree.map(jnp.asarray, given, is_leaf=lambda node: isinstance(node, list))


def sampler(equation: AbstractEquation, where: PointsFrom) -> Sampler:
    """A function that draws points; given points are always all taken."""
    draw = domain(equation) if where is None else where
    assert draw is not None  # it was checked before

    def sample(key: PRNGKeyArray, count: int) -> Points:
        return shard_points(draw(key, count) if callable(draw) else draw)

    return sample


def domain(equation: AbstractEquation) -> Sampler | None:
    """A function that draws points of the equation's domain, if it has one."""
    return getattr(equation, "sample", None)

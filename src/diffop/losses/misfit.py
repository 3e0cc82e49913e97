"""What u misses of the data of an equation."""

import operator
from collections.abc import Callable, Sequence
from functools import reduce

from jaxtyping import Array, Float, PyTree

from ..equations.condition import AnyCondition, Condition, HasResiduals
from ..equations.matching import Matching
from .sharding import shard_points


def misfit(conditions: Sequence[AnyCondition], u: Callable) -> Float[Array, ""] | None:
    """The sum over the conditions of the mean squares of what u misses; None if there are none."""
    squares = [_sharded(condition).misfit(u) for condition in conditions]
    return reduce(operator.add, squares) if squares else None


def residuals(conditions: Sequence[AnyCondition], u: Callable) -> list[PyTree]:
    """For each condition numbers whose squares add up to its misfit.

    **Raises:** `TypeError` if a condition does not tell them.
    """
    return [_telling(_sharded(condition)).residuals(u) for condition in conditions]


def _telling(condition: AnyCondition) -> HasResiduals:
    if not isinstance(condition, HasResiduals):
        raise TypeError(
            "residuals expects conditions with a method residuals(u), whose squares add up to "
            f"misfit(u), got a {type(condition).__name__} without; give it that method."
        )
    return condition


def _sharded(condition: AnyCondition) -> AnyCondition:
    """With its points divided over the mesh of a fit."""
    if not isinstance(condition, Condition | Matching):
        return condition
    return condition._replace(points=shard_points(condition.points))

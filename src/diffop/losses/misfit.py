"""The misfit of u to the data of an equation."""

import math
import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from ..equations.condition import AnyCondition, TellsResiduals
from ..equations.methods import has_method
from ..equations.sampled import AtPoints
from ..parallel.sharding import shard_points
from ..scalars import is_number, plain, several
from ..terms.arguments import kind_of

DataWeight: TypeAlias = int | float | tuple[int | float, ...]
"""One weight for all conditions, or one for each."""


def as_data_weight(given: Any) -> DataWeight:
    """A number, or several as a tuple.

    **Raises:** `ValueError` if one is negative, not finite or not a number.
    """
    one = not isinstance(given, list | tuple) and np.ndim(given) != 1
    weights: tuple[Any, ...] = (plain(given),) if one else several(given)
    for each in weights:
        known = not isinstance(each, Tracer)
        if known and not (is_number(each) and 0 <= each < math.inf):
            raise ValueError(
                "ResidualLoss expects a data_weight that is a finite number of at least 0, or a "
                f"list with one for each condition, got {' '.join(repr(given).split())}."
            )
    return weights[0] if one else weights


def check_conditions(conditions: Sequence[AnyCondition], weight: DataWeight) -> None:
    """Checks that a weight that is asked for has conditions to weigh.

    **Raises:** `ValueError` if there are no conditions, and a weight other than the default.
    """
    if not conditions and not isinstance(weight, tuple | Tracer) and weight != 1:
        raise ValueError(
            f"ResidualLoss expects a data_weight for an equation with conditions, got {weight} and "
            "an equation without; leave it out, or give the equation conditions."
        )


def with_weights(
    conditions: Sequence[AnyCondition], weight: DataWeight
) -> list[tuple[AnyCondition, int | float]]:
    """The conditions with their weights.

    **Raises:** `ValueError` if there are several, and not as many as conditions.
    """
    if not isinstance(weight, tuple):
        return [(condition, weight) for condition in conditions]
    if len(weight) != len(conditions):
        raise ValueError(
            f"data_weight has {len(weight)} numbers, and the equation {len(conditions)} "
            "condition(s); give a number for each of these, in their order, or one for all."
        )
    return list(zip(conditions, weight, strict=True))


def misfit(
    conditions: Sequence[AnyCondition], weight: DataWeight, u: Callable
) -> Float[Array, ""] | None:
    """The weighted sum of the conditions' mean squared misfits; None without conditions."""
    squares = [each * _sharded(c).misfit(u) for c, each in with_weights(conditions, weight)]
    return reduce(operator.add, squares) if squares else None


def residuals(conditions: Sequence[AnyCondition], weight: DataWeight, u: Callable) -> list[PyTree]:
    """For each condition numbers whose squares add up to its weighted misfit.

    **Raises:** `TypeError` if a condition does not give them.
    """
    return [
        jax.tree.map(lambda leaf, root=math.sqrt(each): root * leaf, _telling(c).residuals(u))
        for c, each in with_weights(conditions, weight)
    ]


def _telling(condition: AnyCondition) -> TellsResiduals:
    sharded: Any = _sharded(condition)
    if not has_method(sharded, "residuals"):
        raise TypeError(
            "residuals expects conditions with a method residuals(u), whose squares add up to "
            f"misfit(u), got {kind_of(condition)} without; give it that method."
        )
    return sharded


def _sharded(condition: AnyCondition) -> AnyCondition:
    """The condition with its points divided over the mesh of a fit."""
    if not isinstance(condition, AtPoints):
        return condition
    return eqx.tree_at(lambda c: c.points, condition, shard_points(condition.points))

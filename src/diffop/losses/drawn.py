"""What is random in a call of a loss, and where its points come from."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ..equations.condition import AnyCondition
from ..equations.equation import AbstractEquation
from .sharding import shard_points

Sampler: TypeAlias = Callable[[PRNGKeyArray, int], Float[Array, "count dim"]]
Points: TypeAlias = Sampler | Float[Array, "count dim"] | None
"""A function that draws them, or always the same; None for those of the equation's domain."""


@final
class Drawn(NamedTuple):
    """What is random in a call of a loss.

    - `points`: those of the residual.
    - `data`: the conditions, with points of their own.
    - `jets`: the key of the jets.
    """

    points: Float[Array, "count dim"]
    data: Sequence[AnyCondition]
    jets: PRNGKeyArray


def as_points(given: Any) -> Any:
    return given if given is None or callable(given) else jnp.asarray(given)


def check_points(equation: AbstractEquation, points: Points, batch: int | None, pool: int) -> None:
    """Whether it is said where the points are, and how many.

    **Raises:** `ValueError` where it is not, or twice.
    """
    if points is None and _domain(equation) is None:
        raise ValueError(
            "ResidualLoss expects points for an equation without a domain to draw them from: an "
            "array of shape (count, d), or a function (key, count)."
        )
    if isinstance(points, jax.Array):
        if points.ndim != 2 or batch is not None or pool != 1:
            raise ValueError(
                "ResidualLoss expects points of shape (count, d), which each call takes all, and "
                f"no batch or pool beside them, got shape {points.shape}, batch={batch} and "
                f"pool={pool}; let a function (key, count) choose some."
            )
    elif batch is None:
        raise ValueError(
            "ResidualLoss expects a batch, the number of points of a call, got None; say for "
            "instance batch=100."
        )


def sampler(equation: AbstractEquation, points: Points) -> Sampler:
    """What draws points; those that are given are all taken."""
    draw = _domain(equation) if points is None else points
    assert draw is not None  # it was checked

    def sample(key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return shard_points(draw(key, count) if callable(draw) else draw)

    return sample


def _domain(equation: AbstractEquation) -> Sampler | None:
    """What draws points of the equation's domain, where it has one."""
    return getattr(equation, "sample", None)

"""Second derivatives as weighted sums Σ_r w_r (v_r·∇)² u along directions that jets are drawn in.

Terms (a·∇)(b·∇) of two directions are written as ¼ [((a + b)·∇)² − ((a − b)·∇)²].
"""

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from ..array_types import RowArray, ScalarArray, Vector, Weights
from ..jets.directions import Rows
from ..jets.point import Point
from ..jets.terms import Factors
from ..probes.base import Draw
from ..terms.products import exact_jets, sampled_jets

Second = Callable[[Vector], ScalarArray]
"""v ↦ (v·∇)² u at a point."""


@final
class Weighted(NamedTuple):
    """n directions $v_r$ of a vector, in sparse form if they are sparse, with weights $w_r$."""

    rows: Rows
    weights: Weights


def all_directions(factors: Factors, point: Point) -> list[Weighted]:
    """All directions of a product of factors of order two."""
    return [_read(jets) for jets in exact_jets(factors, _by_powers(point))]


def drawn_directions(factors: Factors, draw: Draw, point: Point) -> list[Weighted]:
    """A random sample of them, drawn as in diffop's estimates; all of them if there are no more
    than were to be drawn.
    """
    return [_read(jets) for jets in sampled_jets(factors, draw, _by_powers(point))]


def _by_powers(point: Point) -> Point:
    """The point, at which derivatives are read from powers of single directions."""
    return Point(point.args, point.kwargs, point.chunk, "power")


def _read(jets: Any) -> Weighted:
    return Weighted(jets.directions[0], jets.weights)


def all_at_once(second: Second, weighted: Weighted, x: Vector) -> ScalarArray:
    """Σ_r w_r (v_r·∇)² u, all directions at once: n times the memory of one."""
    rows = jax.tree.map(jnp.asarray, weighted.rows)
    each = jax.vmap(lambda row: second(dense_row(row, x)))(rows)
    return jnp.asarray(weighted.weights).astype(each.dtype) @ each


def looped(second: Second, weighted: Weighted, x: Vector) -> ScalarArray:
    """The same, one direction after the other: the memory of one.

    If the sum is differentiated, each step is computed again; otherwise the loop would keep the
    values for the derivative of every step, which takes the memory of all of them.
    """

    @jax.checkpoint
    def term(row: Rows, weight: ScalarArray) -> ScalarArray:
        return weight * second(dense_row(row, x))

    weights = jnp.asarray(weighted.weights).astype(x.dtype)
    rows = jax.tree.map(jnp.asarray, weighted.rows)
    total, _ = jax.lax.scan(
        lambda total, each: (total + term(*each), None), jnp.zeros((), x.dtype), (rows, weights)
    )
    return total


def dense_row(row: Rows, x: Vector) -> Vector:
    """One direction, a row of several, as a vector like x."""
    values = jnp.asarray(row.values).astype(x.dtype)
    if row.positions is None:
        return values
    if values.shape[0] == 1:  # one-hot, as in the paper: XLA can fuse it, unlike a scatter
        return values[0] * jax.nn.one_hot(row.positions[0], x.size, dtype=x.dtype)
    return jnp.zeros_like(x).at[row.positions].add(values)


def over_all_sets(
    sum_of: Callable[[Weighted], ScalarArray], sets: Sequence[Weighted]
) -> ScalarArray:
    """The sum over several sets of directions."""
    return reduce(operator.add, map(sum_of, sets))


def array(weighted: Weighted, x: Vector) -> RowArray:
    """All directions as rows of an array."""
    return weighted.rows.dense(x.size, x.dtype)

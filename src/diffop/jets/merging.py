"""Merging jets along one line: equal directions are pushed once.

Directions made of basis vectors are known integers while the plan is made. A direction a·v with an
integer a gives (a·v·∇)^k = a^k (v·∇)^k, so directions are divided by their greatest common divisor
and equal ones are collected with the sum of their weights.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from .directions import Directions, SparseRows

Table: TypeAlias = Mapping[int, tuple[np.ndarray, np.ndarray]]
"""n integer directions: for each argument positions and values, `(n, s)` each."""


def merged(directions: Directions, weights: Any, order: int) -> tuple[Directions, Any]:
    """Different lines only, with the sum of the weights of the jets along each, where all the
    directions are known integers; others as they are.
    """
    table: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for argnum, rows in directions.items():
        positions = rows.positions if isinstance(rows, SparseRows) else None
        values = rows.values if isinstance(rows, SparseRows) else None
        if not (isinstance(positions, np.ndarray) and isinstance(values, np.ndarray)):
            return directions, weights
        table[argnum] = _added_up(positions, values)
    lines, divisors = _canonical_rows(table)
    unique, inverse = np.unique(lines, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    factors = divisors.astype(float) ** order
    if not isinstance(weights, np.ndarray):
        scaled = weights * jnp.asarray(factors).astype(weights.dtype)
        return _directions(unique, table), jax.ops.segment_sum(scaled, inverse, unique.shape[0])
    count, terms = unique.shape[0], weights * factors
    total = np.bincount(inverse, terms, count)
    kept = np.abs(total) > _rounding(inverse, terms, count)
    kept &= np.any(unique[:, 1::2] != 0, axis=1)  # no zero directions
    return _directions(unique[kept], table), total[kept]


def _rounding(inverse: np.ndarray, terms: np.ndarray, count: int) -> np.ndarray:
    """How far from 0 the sum along each line may be by rounding alone: each of n terms is rounded,
    when it is made and when it is added, and a sum that is no larger has cancelled. A lone term has
    not, however small it is beside those of other lines.
    """
    several = np.bincount(inverse, minlength=count)
    size = np.bincount(inverse, np.abs(terms), count)
    return np.where(several > 1, several * np.finfo(float).eps * size, 0)


def _canonical_rows(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Each direction as one row (position, value, position, value, …), equal for equal lines.

    Rows are divided by their greatest common divisor, signed so that the first entry is positive.
    Returns the rows and the divisors.
    """
    position = np.concatenate([p for p, _ in table.values()], axis=1)
    value = np.concatenate([v for _, v in table.values()], axis=1)
    divisor = np.gcd.reduce(value, axis=1)
    leading = value[np.arange(value.shape[0]), np.argmax(value != 0, axis=1)]
    divisor = np.where(divisor == 0, 1, divisor) * np.where(leading < 0, -1, 1)
    rows = np.stack([position, value // divisor[:, None]], axis=2)
    return rows.reshape(rows.shape[0], -1), divisor


def _added_up(positions: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of one position added up, in ascending order of position, zeros at the end as (0,
    0).
    """
    numbers = np.arange(positions.shape[0])[:, None]
    order = np.argsort(positions, axis=1, kind="stable")
    positions, values = positions[numbers, order], values[numbers, order].copy()
    for column in range(positions.shape[1] - 1, 0, -1):
        same = positions[:, column] == positions[:, column - 1]
        values[:, column - 1] += np.where(same, values[:, column], 0)
        values[:, column] = np.where(same, 0, values[:, column])
    order = np.argsort(values == 0, axis=1, kind="stable")
    positions, values = positions[numbers, order], values[numbers, order]
    return np.where(values == 0, 0, positions), values


def _directions(rows: np.ndarray, table: Table) -> Directions:
    pairs = rows.reshape(rows.shape[0], rows.shape[1] // 2, 2)
    result, start = {}, 0
    for argnum, (positions, _) in table.items():
        part = pairs[:, start : start + positions.shape[1]]
        used = max(1, int(np.max(np.sum(part[..., 1] != 0, axis=1), initial=0)))
        result[argnum] = SparseRows(
            part[:, :used, 0].astype(np.int32), part[:, :used, 1].astype(np.int32)
        )
        start += positions.shape[1]
    return result

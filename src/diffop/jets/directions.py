"""Structured sets of n directions in the coordinates of u's arguments: a basis vector is a
position, not d numbers.
"""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .. import taylor
from ..array_types import DirectionValues, PerDirection, Positions, RowArray
from ..taylor.coefficients import Coefficient
from ..taylor.seeds import of_part
from .point import Point


@final
class Rows(eqx.Module):
    """n directions in the coordinates of an argument: $v_r = Σ_j c_{rj} e_{p_{rj}}$, with the
    values c at the positions p.

    - `values`: `(n, s)`.
    - `positions`: `(n, s)`; repeated ones add up. Without them there is a value for every
        coordinate, in order.

    !!! example

        ```python
        import jax.numpy as jnp
        import numpy as np
        import diffop as do

        do.jets.Rows(np.array([[1, -1]]), np.array([[0, 2]]))  # e_0 − e_2
        do.jets.Rows(jnp.ones((2, 5)))
        ```
    """

    values: DirectionValues
    positions: Positions | None = None

    @property
    def known(self) -> bool:
        """Whether these are positions and values that are known while tracing."""
        return isinstance(self.positions, np.ndarray) and isinstance(self.values, np.ndarray)

    def _is_in_order(self, size: int) -> bool:
        """Whether each direction is known to have an entry at each position, in order."""
        known = isinstance(self.positions, np.ndarray) and self.values.shape[1] == size
        return known and bool(np.all(self.positions == np.arange(size)))

    def dense(self, size: int, dtype: Any) -> RowArray:
        """The directions as rows of an array."""
        values = jnp.asarray(self.values).astype(dtype)
        if self.positions is None or self._is_in_order(size):
            return values
        numbers = np.arange(values.shape[0])[:, None]
        return jnp.zeros((values.shape[0], size), dtype).at[numbers, self.positions].add(values)


Directions: TypeAlias = Mapping[int, Rows]
"""The n directions of each argument that moves."""
_SPARSE = 16
"""Directions are sparse up to one entry for this many coordinates. Each entry gathers a row of the
first layer, while an array is multiplied by that layer as the point is.
"""


def basis_directions(argnum: int, positions: Any) -> Directions:
    """The basis vectors at these coordinates of one argument."""
    positions = positions[:, None]
    values = np.ones if isinstance(positions, np.ndarray) else jnp.ones
    return {argnum: Rows(values(positions.shape, dtype=np.int32), positions)}


def count(directions: Directions) -> int:
    for rows in directions.values():
        return rows.values.shape[0]
    raise ValueError("directions of no argument at all")


def rows_at(directions: Directions, index: Any) -> Directions:
    """The directions with these numbers."""
    return jax.tree.map(lambda leaf: leaf[index], dict(directions))


def largest_entries(directions: Directions) -> Array | None:
    """The largest entry of each direction; None if all entries are integers."""
    entries = [rows.values for rows in directions.values()]
    if not any(jnp.issubdtype(each.dtype, jnp.inexact) for each in entries):
        return None
    kind = _widest(entries)
    sizes = [jnp.max(jnp.abs(each), axis=1, initial=0).astype(kind) for each in entries]
    return functools.reduce(jnp.maximum, sizes)


def divided_directions(directions: Directions, numbers: Array) -> Directions:
    """Each direction divided by a number."""

    def by_row(entries: Any) -> Array:
        kind = entries.dtype if jnp.issubdtype(entries.dtype, jnp.inexact) else numbers.dtype
        return jnp.asarray(entries).astype(kind) / numbers.astype(kind)[:, None]

    return {
        argnum: Rows(by_row(rows.values), rows.positions) for argnum, rows in directions.items()
    }


def _by_argument(sets: Sequence[Directions]) -> dict[int, list[tuple[int, Rows]]]:
    """For each argument that moves the numbers of the sets in which it does, and its rows."""
    found: dict[int, list[tuple[int, Rows]]] = {}
    for number, directions in enumerate(sets):
        for argnum, rows in directions.items():
            found.setdefault(argnum, []).append((number, rows))
    return dict(sorted(found.items()))


def combine(
    coefficients: Sequence[int | float], slots: Sequence[Directions], point: Point
) -> Directions:
    """Σ_j a_j v_j, direction by direction."""
    sums: dict[int, Rows] = {}
    for argnum, found in _by_argument(slots).items():
        parts = [Rows(rows.values * coefficients[j], rows.positions) for j, rows in found]
        sums[argnum] = _added(parts, argnum, point)
    return sums


def _added(parts: Sequence[Rows], argnum: int, point: Point) -> Rows:
    """The sum of sets of n directions, direction by direction: sparse if all of them are."""
    positions = _all_positions(parts)
    if positions is not None:
        values = _concatenate([rows.values for rows in parts], axis=1)
        return Rows(values, _concatenate(positions, axis=1))
    dtype, size = point.dtype(argnum), point.size(argnum, "an operator")
    return Rows(functools.reduce(jnp.add, [rows.dense(size, dtype) for rows in parts]))


def _all_positions(rows: Iterable[Rows]) -> list[Positions] | None:
    """The positions of all of them; None if one has none."""
    positions = [each.positions for each in rows]
    known = [each for each in positions if each is not None]
    return known if len(known) == len(positions) else None


def sum_of(parts: Sequence[tuple[Any, Any, Directions]], point: Point) -> Directions:
    """The single direction Σ_j c_j Σ_r w_jr v_jr from sets of directions, each with a number and
    with weights `(n,)`: an array, unless all are sparse and have few entries in total.
    """
    sums: dict[int, Rows] = {}
    for argnum, found in _by_argument([directions for *_, directions in parts]).items():
        dtype, size = point.dtype(argnum), point.size(argnum, "an operator")
        single = [_single(_weights(*parts[j][:2], dtype), rows) for j, rows in found]
        entries = sum(rows.values.size for rows in single)
        if entries * _SPARSE > size:
            single = [Rows(rows.dense(size, dtype)) for rows in single]
        sums[argnum] = _added(single, argnum, point)
    return sums


def _single(weights: Array, rows: Rows) -> Rows:
    """The single direction Σ_r w_r v_r."""
    values = jnp.asarray(rows.values).astype(weights.dtype)
    if rows.positions is None:
        return Rows((weights @ values)[None])
    return Rows((weights[:, None] * values).reshape(1, -1), rows.positions.reshape(1, -1))


def _weights(number: Any, weights: Any, dtype: Any) -> Array:
    """Number times weights, in the directions' own type."""
    if isinstance(number, int | float):
        return jnp.asarray(weights * number).astype(dtype)
    return jnp.asarray(number).astype(dtype) * jnp.asarray(weights).astype(dtype)


def interleave(blocks: Sequence[Directions], point: Point) -> Directions:
    """Several sets of n directions as one: the first of each, then the second of each, …"""
    if len(blocks) == 1:
        return blocks[0]
    n = count(blocks[0])
    return rows_at(
        stacked_directions(blocks, point), np.arange(len(blocks) * n).reshape(-1, n).T.reshape(-1)
    )


def stacked_directions(blocks: Sequence[Directions], point: Point) -> Directions:
    """Several sets of directions, concatenated. Where an argument does not move there are zeros."""
    # for each set as many directions without entries
    still = [Rows(none, none) for none in (np.zeros((count(each), 0), np.int32) for each in blocks)]
    pairs = list(zip(blocks, still, strict=True))
    return {
        argnum: _stack_rows([block.get(argnum, none) for block, none in pairs], argnum, point)
        for argnum in _by_argument(blocks)
    }


def _stack_rows(parts: Sequence[Rows], argnum: int, point: Point) -> Rows:
    positions = _all_positions(parts)
    if positions is None:
        dtype, size = point.dtype(argnum), point.size(argnum, "an operator")
        return Rows(jnp.concatenate([rows.dense(size, dtype) for rows in parts]))
    width = max(each.shape[1] for each in positions)
    values = [_padded(rows.values, width) for rows in parts]
    return Rows(_concatenate(values, 0), _concatenate([_padded(p, width) for p in positions], 0))


def _padded(entries: Any, width: int) -> Any:
    """Rows with `width` entries each, some of them zero."""
    missing = np.zeros((entries.shape[0], width - entries.shape[1]), np.int32)
    return _concatenate([entries, missing], axis=1)


def _concatenate(arrays: Sequence[Any], axis: int) -> Any:
    if all(isinstance(array, np.ndarray) for array in arrays):
        return np.concatenate(arrays, axis)
    kind = arrays[0].dtype if len({a.dtype for a in arrays}) == 1 else _widest(arrays)
    return jnp.concatenate([jnp.asarray(array).astype(kind) for array in arrays], axis)


def _widest(arrays: Sequence[Any]) -> Any:
    """The widest type; integer multiples of basis vectors take the type of floating values."""
    floating = [array.dtype for array in arrays if jnp.issubdtype(array.dtype, jnp.inexact)]
    return floating[0] if floating else np.int32


def to_tangents(directions: Directions, point: Point) -> tuple[Any, ...]:
    """Tangents in the structure of u's arguments, or None for an argument that does not move. Each
    leaf is a coefficient of the Taylor engine, as sparse as the directions.
    """
    moving: list[Any] = [None] * len(point.args)
    for argnum, rows in directions.items():
        leaves, structure = jax.tree.flatten(point.args[argnum])
        starts = itertools.accumulate(map(jnp.size, leaves), initial=0)
        parts = list(map(functools.partial(_leaf_tangent, rows), starts, leaves))
        moving[argnum] = jax.tree.unflatten(structure, parts)
    return tuple(moving)


def _leaf_tangent(rows: Rows, start: int, leaf: Any) -> Coefficient:
    """The part of the directions in a leaf's coordinates, from `start` on."""
    values, shape, kind = rows.values, jnp.shape(leaf), jax.typeof(leaf).dtype
    if rows.positions is None:
        size = jnp.size(leaf)
        part = values[:, start : start + size] if size != values.shape[1] else values
        return taylor.Full(jnp.asarray(part).reshape(part.shape[0], *shape).astype(kind))
    if not (isinstance(values, np.ndarray) and (values == 1).all()):
        values = jnp.asarray(values).astype(kind)
    return of_part(rows.positions, values, start, shape)


def project(directions: Directions, argnum: int, outputs: RowArray) -> PerDirection:
    """v_r · y_r for each direction and its output."""
    rows = directions[argnum]
    values = jnp.asarray(rows.values).astype(outputs.dtype)
    if rows.positions is not None:
        outputs = outputs[np.arange(values.shape[0])[:, None], rows.positions]
    return jnp.sum(values * outputs, axis=1)

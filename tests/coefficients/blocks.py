"""Random blocks of every form, and the arrays that they are by their definition."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from diffop import taylor
from diffop.coefficients.blocks import collected
from diffop.taylor import Axis, Block, Blocks, Range, Source, Table, Traced
from diffop.taylor.seeds import of_part

Rng = np.random.Generator
Shape = tuple[int, ...]


def numbers(index: Any, size: int) -> np.ndarray:
    """What an index adds at each place of its axis."""
    if index is None:
        return np.zeros(size, int)
    if isinstance(index, Range):
        return np.array([index.start + index.step * k for k in range(size)], int)
    return np.asarray(index.array)[np.arange(size)].astype(int)


def definition(c: Blocks) -> np.ndarray:
    """All entries of a coefficient: c[o + Σ_a i_a(k_a)] += factor · values[k]."""
    array = np.zeros(c.shape, float if not _complex(c) else complex)
    for part in c.parts:
        sizes = [axis.size for axis in part.axes]
        values = np.ones(sizes) if part.values is None else np.asarray(part.values)
        values = np.broadcast_to(values, sizes)
        adds = [[numbers(i, axis.size) for i in axis.adds] for axis in part.axes]
        for k in np.ndindex(*sizes):
            place = np.array(part.origin)
            for each, at in zip(adds, k, strict=True):
                place = place + [column[at] for column in each]
            assert (place >= 0).all() and (place < c.shape).all(), (place, c)
            array[tuple(place)] += part.factor * values[k]
    return array


def _complex(c: Blocks) -> bool:
    return any(part.values is not None and jnp.iscomplexobj(part.values) for part in c.parts)


def number(rng: Rng, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def flag(rng: Rng) -> bool:
    return bool(rng.integers(2))


def random_entries(rng: Rng, shape: Shape, count: int, known: bool = True) -> Blocks:
    """Some entries of each direction, as users give them: some of them at one position."""
    size, entries = math.prod(shape), number(rng, 1, 3)
    positions = rng.integers(0, size, (count, entries)).astype(np.int32)
    if flag(rng) and entries <= size:
        positions = np.array([rng.permutation(size)[:entries] for _ in range(count)], np.int32)
    values = np.ones(positions.shape) if flag(rng) else rng.normal(size=positions.shape)
    if known:
        return taylor.entries(positions, jnp.asarray(values) if flag(rng) else values, shape)
    return of_part(jnp.asarray(positions), jnp.asarray(values), 0, shape)  # as under a trace


def random_blocks(rng: Rng, shape: Shape, count: int, known: bool = True) -> Blocks:
    """A sum of some blocks; those at equal places are one."""
    lead = (count, *shape)
    first = random_block(rng, lead, known)
    parts = [first, *(random_block(rng, lead, known) for _ in range(number(rng, 0, 2)))]
    if number(rng, 0, 2) == 0:
        parts.append(with_other_values(rng, first))
    return collected(parts, lead)


def random_block(rng: Rng, lead: Shape, known: bool = True) -> Block:
    """Axes that add ranges, tables and, where not all is `known`, traced indices to any of the
    coordinates: so that some of them share coordinates, and some coordinates have no axis.
    """
    left, origin = [size - 1 for size in lead], [0] * len(lead)
    axes = []
    for _ in range(number(rng, 0, 3)):
        c = number(rng, 0, len(lead) - 1)
        size = left[c] + 1 if flag(rng) and left[c] < 80 else number(rng, 1, 4)
        if math.prod(axis.size for axis in axes) * size > MOST:
            continue
        along = [c, *(d for d in range(len(lead)) if d != c and number(rng, 0, 2) == 0)]
        adds: list[Any] = [None] * len(lead)
        for d in along:
            adds[d], least, span = _random_index(rng, size, left[d], known)
            origin[d] -= least
            left[d] -= span
        axes.append(Axis(size, tuple(adds)))
    for d, rest in enumerate(left):
        origin[d] += number(rng, 0, rest)
    block = Block(None, tuple(axes), tuple(origin), [1, 1, -2.0, 0.5][number(rng, 0, 3)])
    return block if number(rng, 0, 3) == 0 else with_other_values(rng, block)


MOST = 300


def _random_index(rng: Rng, size: int, room: int, known: bool) -> tuple[Any, int, int]:
    """An index whose numbers lie as far apart as there is room, their least, and how far."""
    least, kind = number(rng, -1, 2), number(rng, 0, 1 if known else 2)
    step = min(number(rng, 0, 2) or 1, room // max(1, size - 1))
    if kind == 0 or room == 0:
        high = step * (size - 1)
        index = Range(least, step) if flag(rng) else Range(least + high, -step)
        return index, least, high
    array = (least + rng.integers(0, room + 1, size)).astype(np.int32)
    if kind == 1:
        return Table(array), least, room
    return Traced(jnp.asarray(array), Source(), least, least + room), least, room


def with_other_values(rng: Rng, block: Block) -> Block:
    """Numbers at the same places, of which some may be the same along an axis, or all zero."""
    sizes = [1 if number(rng, 0, 4) == 0 else axis.size for axis in block.axes]
    values = rng.normal(size=sizes) * (number(rng, 0, 9) > 0)
    return block.with_values(jnp.asarray(values))

"""Agreement on one structure of coefficients where paths of a program meet: the branches of a
`cond`, or one iteration of a loop and the next.

A coefficient that is zero on only one path becomes an array of zeros there. One that varies over
devices on only one path (`jax.shard_map`) is declared to vary on all. Branches may give sparse
coefficients: each branch then gives the entries of all. Loops carry arrays.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ...arrays import times
from ...coefficients.block import Axis, Block
from ...coefficients.blocks import Blocks
from ...coefficients.index import Traced
from ...source import Source
from ...versions import varying_axes
from ..arithmetic import densify
from ..bundle import Families, Family, Value, bundle, primal_of, series_of
from ..coefficients import Coefficient, Zero, varying, without_notes


def _at_places(common: Blocks, term: Coefficient, primal: Any) -> Blocks:
    """A coefficient as blocks at the places of the blocks of every branch."""
    own, dtype = _by_kind(term) if isinstance(term, Blocks) else {}, jnp.result_type(primal)
    parts = [_filled(own.get(kind), each, dtype) for kind, each in _by_kind(common).items()]
    return Blocks(tuple(parts), common.shape)


def _filled(part: Block | None, place: Block, dtype: Any) -> Block:
    """A block with a number at each place, zeros where it has none."""
    values, axes = jnp.zeros((), dtype), place.axes
    if part is not None:
        values = times(part.written(dtype), part.factor)
        axes = jax.tree.unflatten(jax.tree.structure(axes), jax.tree.leaves(part.axes))
    return Block(jnp.broadcast_to(values, [axis.size for axis in axes]), axes, place.origin)


def _by_kind(c: Blocks) -> dict[Hashable, Block]:
    """Blocks, by everything known of their places and their count among those of one kind."""
    found: dict[Hashable, Block] = {}
    for part in c.parts:
        adds = tuple(
            (axis.size, *("traced" if isinstance(index, Traced) else index for index in axis.adds))
            for axis in part.axes
        )
        kind = (adds, part.origin)
        found[kind, sum(each[0] == kind for each in found)] = part  # pyright: ignore
    return found


CoefficientKind: TypeAlias = frozenset | None | Blocks
"""The axes of devices over which a coefficient's array varies, None if there is no array; for
sparse ones, the places of the blocks of every branch.
"""
Structure: TypeAlias = tuple[tuple[Any, ...], ...]
"""A kind for every family and place."""


def agreed(families: Families, outcomes: Sequence[Value], sparse: bool = False) -> Structure:
    """The common structure of values on several paths: arrays wherever one of them has a
    coefficient, or `sparse` where all coefficients can be.
    """
    return tuple(
        tuple(
            _common(terms, sparse)
            for terms in zip(*(series_of(v, families, index) for v in outcomes), strict=True)
        )
        for index in range(len(families))
    )


def _common(terms: Sequence[Coefficient], sparse: bool) -> CoefficientKind:
    moving = [term for term in terms if not isinstance(term, Zero)]
    blocks = [term for term in moving if isinstance(term, Blocks)]
    if sparse and blocks and len(blocks) == len(moving):
        common = _places(blocks, len(moving) == len(terms))
        if common.is_sparse:
            return common
    if not moving:
        return None
    return frozenset().union(*map(varying_axes, jax.tree.leaves(moving)))


def _places(blocks: Sequence[Blocks], everywhere: bool) -> Blocks:
    """The places of all branches."""
    kinds = [_by_kind(term) for term in blocks]
    alike = {kind: [own[kind] for own in kinds if kind in own] for own in kinds for kind in own}
    axes = [_axes(each, everywhere and len(each) == len(blocks)) for each in alike.values()]
    origins = [each[0].origin for each in alike.values()]
    return Blocks(tuple(map(partial(Block, None), axes, origins)), blocks[0].shape)


def _axes(parts: Sequence[Block], everywhere: bool) -> tuple[Axis, ...]:
    """Axes like those of several blocks, with new names for numbers that differ between them."""

    def common(size: int, *indices: Any) -> Any:
        if not isinstance(indices[0], Traced):
            return indices[0]
        same = everywhere and len({index.source for index in indices}) == 1
        source = indices[0].source if same else Source()
        low, high = min(i.low for i in indices), max(i.high for i in indices)
        return Traced(np.zeros(size, np.int32), source, low, high)

    return tuple(
        Axis(
            axes[0].size,
            tuple(
                common(axes[0].size, *each) for each in zip(*(a.adds for a in axes), strict=True)
            ),
        )
        for axes in zip(*(part.axes for part in parts), strict=True)
    )


def conform(value: Value, structure: Structure, families: Families, name: str) -> Value:
    """The same value with coefficients of a structure; `name` is the primitive that needs it."""
    primal = primal_of(value)
    series = [
        tuple(
            _instantiated(family, term, kind, place, primal, name)
            for place, (term, kind) in enumerate(
                zip(series_of(value, families, index), structure[index], strict=True)
            )
        )
        for index, family in enumerate(families)
    ]
    return bundle(primal, series)


def _instantiated(
    family: Family, term: Coefficient, kind: Any, place: int, primal: Any, name: str
) -> Coefficient:
    if isinstance(kind, Blocks):
        return _at_places(kind, term, primal)
    term = densify(term, family.lead(place), primal, name)
    if kind is None:
        return term
    return varying(without_notes(family.instantiate(term, place, primal)), kind)


def conform_all(
    values: Sequence[Value], structures: Sequence[Structure], families: Families, name: str
) -> list[Value]:
    return [conform(v, s, families, name) for v, s in zip(values, structures, strict=True)]

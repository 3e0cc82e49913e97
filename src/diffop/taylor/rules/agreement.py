"""One structure of coefficients where paths of a program meet: branches of a `cond`, one iteration
of a loop and the next.

A coefficient that is zero on one path only becomes one of zeros there, and one that varies over
devices on one path only (`jax.shard_map`) is said to vary on all. Branches may give sparse ones:
each then gives the entries of all. What a loop carries are arrays.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from ...arrays import times
from ...coefficients.block import Block
from ...coefficients.blocks import Blocks
from ...versions import varying_axes
from ..arithmetic import densify
from ..bundle import Families, Family, Value, bundle, plain, primal_of, series_of
from ..coefficients import Coefficient, Sets, Zero, each_set, sets, varying


class Common(NamedTuple):
    """Blocks at the places of those of every branch."""

    places: tuple[Any, ...]
    shape: tuple[int, ...]

    def of(self, term: Coefficient, primal: Any) -> Coefficient:
        dtype = jnp.result_type(primal)
        own = {p.place: p for p in term.parts} if isinstance(term, Blocks) else {}
        parts = [_filled(own.get(place), place, dtype) for place in self.places]
        return Blocks(tuple(parts), self.shape)


def _filled(part: Block | None, place: tuple[Any, ...], dtype: Any) -> Block:
    """A block with a number for each place, zeros where there is none."""
    (axes, origin), values = place, jnp.zeros((), dtype)
    if part is not None:
        axes = part.axes  # equal, and of this branch
        values = jnp.ones((), dtype) if part.values is None else part.values
        values = times(values, part.factor)
    return Block(jnp.broadcast_to(values, [axis.size for axis in axes]), axes, origin)


Kind: TypeAlias = frozenset | None | tuple[Any, ...] | Common
"""The axes of devices that a coefficient's array varies over, None where there is no array; for
sets, a tuple of answers.
"""
Structure: TypeAlias = tuple[tuple[Any, ...], ...]
"""A kind for every family and place."""


def structure_of(value: Value, families: Families) -> Structure:
    """Arrays wherever a value's coefficients are not zero."""
    return tuple(
        tuple(_kind(term) for term in series_of(value, families, index))
        for index in range(len(families))
    )


def _kind(coefficient: Coefficient) -> Any:
    if isinstance(coefficient, Sets):
        return tuple(map(_kind, coefficient.parts))
    if isinstance(coefficient, Zero):
        return None
    return frozenset().union(*map(varying_axes, jax.tree.leaves(coefficient)))


def joined(structures: Sequence[Structure]) -> Structure:
    """Arrays wherever one structure has them."""
    return tuple(
        tuple(_wider(kinds) for kinds in zip(*per_family, strict=True))
        for per_family in zip(*structures, strict=True)
    )


def _wider(kinds: Sequence[Any]) -> Any:
    parts = [kind for kind in kinds if isinstance(kind, tuple)]
    if parts:
        return tuple(map(_wider, zip(*parts, strict=True)))
    arrays = [kind for kind in kinds if kind is not None]
    return frozenset().union(*arrays) if arrays else None


def agreed(families: Families, outcomes: Sequence[Value]) -> Structure:
    """What branches agree on, for one output: coefficients stay sparse where all can be."""
    return tuple(
        tuple(
            _common(terms)
            for terms in zip(*(series_of(v, families, index) for v in outcomes), strict=True)
        )
        for index in range(len(families))
    )


def _common(terms: Sequence[Coefficient]) -> Any:
    moving = [term for term in terms if not isinstance(term, Zero)]
    blocks = [term for term in moving if isinstance(term, Blocks)]
    common = _places(blocks, terms) if blocks and len(blocks) == len(moving) else None
    return _wider([_kind(term) for term in terms]) if common is None else common


def _places(blocks: Sequence[Blocks], terms: Sequence[Coefficient]) -> Common | None:
    """The places of all branches, where they are fewer than an array has, and known."""
    places = tuple(dict.fromkeys(part.place for term in blocks for part in term.parts))
    shape = blocks[0].shape
    whole = Blocks(tuple(Block(None, *place) for place in places), shape)
    everywhere = all(isinstance(c, Blocks) and len(c.parts) == len(places) for c in terms)
    if not whole.is_sparse or (jax.tree.leaves(whole) and not everywhere):
        return None
    return Common(places, shape)


def conform(value: Value, structure: Structure, families: Families, name: str) -> Value:
    """The same value with coefficients of a structure; `name` is the primitive that asks."""
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
    if isinstance(kind, Common):
        return kind.of(term, primal)
    term = densify(term, family.lead(place), primal, name)
    if kind is None or (isinstance(kind, tuple) and all(each is None for each in kind)):
        return term
    whole = each_set(plain, family.instantiate(term, place, primal))
    if not isinstance(kind, tuple):
        return varying(whole, kind)
    assert isinstance(whole, Sets)
    return sets(
        [
            Zero() if axes is None else varying(part, axes)
            for part, axes in zip(whole.parts, kind, strict=True)
        ]
    )


def conform_all(
    values: Sequence[Value], structures: Sequence[Structure], families: Families, name: str
) -> list[Value]:
    return [conform(v, s, families, name) for v, s in zip(values, structures, strict=True)]

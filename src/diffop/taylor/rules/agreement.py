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
import numpy as np

from ...versions import varying_axes
from ..arithmetic import densify
from ..bundle import Families, Family, Value, bundle, plain, primal_of, series_of
from ..coefficients import ByDirection, ByEntry, Coefficient, Sets, Zero, each_set, sets, varying
from ..sparsity import by_entry
from ..sparsity.numbers import Numbers
from ..sparsity.source import Source


class Columns(NamedTuple):
    """A coefficient by entry with columns for those of every branch."""

    numbers: Numbers
    size: int

    def of(self, term: Coefficient, primal: Any) -> Coefficient:
        dtype = jnp.result_type(primal)
        zero = jnp.zeros(self.numbers.shape, dtype)
        columns = [zero] * self.numbers.count
        if isinstance(term, ByEntry):
            values = by_entry.values_of(term, dtype)
            for j, place in enumerate(_places(list(self.numbers.array), term.numbers)):
                columns[place] = values[j]
        return ByEntry(jnp.stack(columns), self.numbers, self.size)


class Entries(NamedTuple):
    """A coefficient by direction with as many entries as any branch gives, wherever they are."""

    positions: tuple[int, ...]
    kind: Any
    values: tuple[int, ...]
    distinct: bool
    source: Source

    def of(self, term: Coefficient, primal: Any) -> Coefficient:
        if isinstance(term, ByDirection):
            missing = self.positions[-1] - term.positions.shape[-1]
            positions, values = (
                jnp.pad(jnp.asarray(each), [(0, 0)] * (each.ndim - 1) + [(0, missing)])
                for each in (term.positions, term.values)
            )
        else:
            positions = jnp.zeros(self.positions, self.kind)
            values = jnp.zeros(self.values, jnp.result_type(primal))
        return ByDirection(positions, values, self.distinct, self.source)


Kind: TypeAlias = frozenset | None | tuple[Any, ...] | Columns | Entries
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


def agreed(families: Families, outcomes: Sequence[Value], junction: object) -> Structure:
    """What branches agree on, for one output: coefficients stay sparse where all can be."""
    return tuple(
        tuple(
            _common(terms, junction)
            for terms in zip(*(series_of(v, families, index) for v in outcomes), strict=True)
        )
        for index in range(len(families))
    )


def _common(terms: Sequence[Coefficient], junction: object) -> Any:
    moving = [term for term in terms if not isinstance(term, Zero)]
    diagonals = [term for term in moving if isinstance(term, ByEntry)]
    sparse = [term for term in moving if isinstance(term, ByDirection)]
    common = None
    if diagonals and len(diagonals) == len(moving):
        common = _columns(diagonals)
    if sparse and len(sparse) == len(moving):
        common = _entries(terms, sparse, junction)
    return _wider([_kind(term) for term in terms]) if common is None else common


def _columns(terms: Sequence[ByEntry]) -> Columns | None:
    columns: list[np.ndarray] = []
    for term in terms:
        _places(columns, term.numbers)
    size = terms[0].size
    return Columns(Numbers(np.stack(columns)), size) if len(columns) < size else None


def _places(columns: list[np.ndarray], numbers: Numbers) -> list[int]:
    """Which of the columns those of a coefficient are; new ones are appended."""
    places: list[int] = []
    for column in numbers.array:
        same = (i for i, c in enumerate(columns) if i not in places and np.array_equal(c, column))
        place = next(same, len(columns))
        if place == len(columns):
            columns.append(column)
        places.append(place)
    return places


def _entries(
    terms: Sequence[Coefficient], sparse: Sequence[ByDirection], junction: object
) -> Entries | None:
    shapes = {(c.positions.shape[:-1], c.values.shape[:-1]) for c in sparse}
    if len(shapes) > 1:
        return None
    ((positions, values),) = shapes
    count = max(c.positions.shape[-1] for c in sparse)
    sources = tuple(c.source if isinstance(c, ByDirection) else None for c in terms)
    source = sources[0] if len(set(sources)) == 1 else None
    return Entries(
        (*positions, count),
        sparse[0].positions.dtype,
        (*values, count),
        all(c.distinct for c in sparse),
        source or Source((junction, sources)),
    )


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
    if isinstance(kind, Columns | Entries):
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

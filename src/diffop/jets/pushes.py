"""What the engine pushes for weighted jets, and where each of them is read.

Jets with equal directions are pushed once. Where every tangent has a parameter of its own, equal
directions may be one tangent among several: Δ sampled along e_i and ∂_jΔ sampled along e_i and e_j
are outputs t_1² and t_1² t_2 of the same jets.
"""

import itertools
import math
from collections.abc import Hashable, Sequence
from types import EllipsisType
from typing import Any, NamedTuple, final

import jax.numpy as jnp
import numpy as np

from ..taylor import Jets, Matrix
from ..taylor.truncation import Exponents, Truncation
from . import sums
from .directions import Directions, combine, stack, to_tangents
from .expansion import units
from .identity import connected
from .point import Point
from .weighted_jets import WeightedJets


@final
class Reading(NamedTuple):
    """Where weighted jets are read.

    - `pushed`: the number of the engine's jets.
    - `place`: that of the output among their monomials.
    - `rows`: which of its leading entries: sums where it is `summed`, else jets.
    - `joined`: it is not read at all, being a part of what is read of another of its sum.
    """

    pushed: int
    place: int
    rows: EllipsisType | int | slice
    summed: bool
    joined: bool = False


_UNREAD = Reading(-1, -1, ..., False, joined=True)


def to_push(wanted: Sequence[WeightedJets], point: Point) -> tuple[list[Jets], dict[int, Reading]]:
    """All that has to be pushed, once, and by the `id` of weighted jets where they are read."""
    rest: dict[int, WeightedJets] = {}
    alone: dict[int, WeightedJets] = {}
    for jets in wanted:
        without_partners = jets.output == (1,) and jets.signature == (None,)
        (alone if without_partners else rest)[id(jets)] = jets
    # What is read from the coefficients of single directions keeps them all in memory.
    groups = grouped(list(rest.values()), separate_outputs=point.chunk is not None)
    if alone:
        groups.append(list(alone.values()))
    pushed: list[Jets] = []
    readings: dict[int, Reading] = {}
    for members in groups:
        push = _stacked if len(members) > 1 and id(members[0]) in alone else _together
        jets, found = push(members, len(pushed), point)
        pushed.append(jets)
        for member, reading in zip(members, found, strict=True):
            readings[id(member)] = reading
    return pushed, readings


def _stacked(members: list[WeightedJets], number: int, point: Point) -> tuple[Jets, list[Reading]]:
    """First-order jets of different directions, one after the other."""
    argnums = sorted({argnum for member in members for argnum in member.directions})
    directions = {
        argnum: stack([(m.directions.get(argnum), m.size) for m in members], argnum, point)
        for argnum in argnums
    }
    ends = list(itertools.accumulate(member.size for member in members))
    readings = [
        Reading(number, 0, slice(end - member.size, end), False)
        for member, end in zip(members, ends, strict=True)
    ]
    return Jets((to_tangents(directions, point),)), readings


def _together(members: list[WeightedJets], number: int, point: Point) -> tuple[Jets, list[Reading]]:
    """Jets with common tangents.

    The maximal outputs are collapsed with one row of weights for each member that reads one, where
    that makes fewer sums than jets. Other outputs, and those contracted with their directions, are
    read from the coefficients that are kept jet by jet. Of outputs that are only added up one is
    read for several (`sums`).
    """
    most = _most(members, point)
    tangents, outputs, lifted = _lifted(members, *_common(members), point, most)
    apart = [place for place in range(len(members)) if place not in lifted]
    truncation = Truncation.closure(outputs[place] for place in apart)
    places = {member: truncation.places[outputs[member]] for member in apart}
    joined = sums.joined(members, places, truncation, most)
    read = [member for member in apart if member not in {part for part, *_ in joined}]
    heights = _sums([members[i] for i in read], [places[i] for i in read], truncation)
    several = heights.count(0) < len(heights) - 1
    readings: dict[int, Reading] = {}
    rows, end = [], 0
    for i, height in zip(read, heights, strict=True):
        where: EllipsisType | int | slice = ...
        if height:
            end += height
            rows.append(members[i].weights)
        if height and several:
            where = end - 1 if np.ndim(members[i].weights) == 1 else slice(end - height, end)
        readings[i] = Reading(number, places[i], where, height > 0)
    still = (None,) * len(point.args)
    moving = [
        to_tangents(tangents[monomial], point) if monomial in tangents else still
        for monomial in truncation.monomials
    ]
    weights = _stacked_weights(rows) if several else next(iter(rows), None)
    if members[0].matrix is not None:
        weights = Matrix(members[0].matrix)
    added = tuple((places[part], places[into], ratio) for part, into, ratio in joined)
    jets = Jets(tuple(moving), weights, 0 not in heights, truncation, added)
    return jets, [readings.get(i, _UNREAD) for i in range(len(members))]


def _lifted(
    members: Sequence[WeightedJets],
    tangents: dict[Exponents, Directions],
    outputs: list[Exponents],
    point: Point,
    most: float,
) -> tuple[dict[Exponents, Directions], list[Exponents], frozenset[int]]:
    """Tangents and outputs without the parameters that can be lifted, and which outputs are parts
    of others for that.
    """
    lifts = sums.lifts(members, outputs, most)
    if not lifts:
        return tangents, outputs, frozenset()
    gone = {lift.parameter for lift in lifts}
    parameters = [p for p in range(len(outputs[0])) if p not in gone]

    def without(exponents: Exponents) -> Exponents:
        return tuple(exponents[p] for p in parameters)

    kept = {
        without(exponents): slot for exponents, slot in tangents.items() if any(without(exponents))
    }
    one = units(len(outputs[0]))
    power = tuple(lifts[0].power * exponent for exponent in without(one[lifts[0].base]))
    slots = [tangents[one[lift.parameter]] for lift in lifts]
    kept[power] = combine([lift.ratio for lift in lifts], slots, point)
    parts = frozenset[int]().union(*(lift.parts for lift in lifts))
    return kept, [without(output) for output in outputs], parts


def _most(members: Sequence[WeightedJets], point: Point) -> float:
    """How large numbers may be that enter a series, and how small their inverses: in the narrowest
    type of the arguments, what is multiplied with them may be as far from one itself.
    """
    moving = {argnum for jets in members for slot in jets.tangents.values() for argnum in slot}
    kinds = [point.dtype(argnum) for argnum in moving]
    floating = [kind for kind in kinds if jnp.issubdtype(kind, jnp.inexact)]
    return math.sqrt(min((float(jnp.finfo(kind).max) for kind in floating), default=1.0))


def _sums(members: list[WeightedJets], places: Sequence[int], truncation: Truncation) -> list[int]:
    """How many sums each member reads, 0 where it reads jet by jet."""
    if truncation.degree == 1 and len(members) > 1:
        return [0] * len(members)
    sums = []
    for member, place in zip(members, places, strict=True):
        height = 1 if np.ndim(member.weights) == 1 else member.weights.shape[0]
        sums.append(height if place in truncation.tops and not member.contracted else 0)
    return sums if sum(sums) <= members[0].size else [0] * len(members)


def _stacked_weights(weights: Sequence[Any]) -> Any:
    rows = [jnp.atleast_2d(jnp.asarray(each)) for each in weights]
    kind = jnp.result_type(*(row.dtype for row in rows))
    return jnp.concatenate([row.astype(kind) for row in rows])


def number_pushed(jets: Sequence[WeightedJets]) -> int:
    """How many jets are pushed; those with equal directions are once."""
    return sum(members[0].size for members in grouped(jets))


def coefficients(jets: Sequence[WeightedJets]) -> int:
    """How many there are beside the primal, the maximal ones collapsed to one sum each."""
    total = 0
    for members in grouped(jets):
        truncation = Truncation.closure(_common(members)[1])
        tops = len(truncation.tops)
        total += members[0].size * (len(truncation) - tops) + tops
    return total


def grouped(
    jets: Sequence[WeightedJets], separate_outputs: bool = False
) -> list[list[WeightedJets]]:
    """Those that are pushed together; with `separate_outputs` only where they read one output."""
    if len(jets) == 1:
        return [list(jets)]
    groups = connected([_keys(each, separate_outputs) for each in jets])
    return [[jets[number] for number in group] for group in groups]


def _keys(jets: WeightedJets, separate_outputs: bool) -> set[Hashable]:
    """What others must share with these jets to be pushed with them; nothing where directions meet
    by a matrix.
    """
    if jets.matrix is not None:
        return {("matrix", id(jets))}
    names: list[Hashable] = [name for name, _ in _named(jets)]
    if not jets.is_multilinear:
        names = [(tuple(jets.tangents), tuple(names))]
    elif jets.addend is not None and not separate_outputs:
        names.append((jets.addend[0], jets.size))
    return {(name, jets.output) if separate_outputs else name for name in names}


def _named(jets: WeightedJets) -> list[tuple[Hashable, Directions]]:
    """The directions with their names, in order; those without one are like no others."""
    return [
        (("unnamed", id(slot)) if name is None else name, slot)
        for name, slot in zip(jets.signature, jets.slots, strict=True)
    ]


def _common(
    members: Sequence[WeightedJets],
) -> tuple[dict[Exponents, Directions], list[Exponents]]:
    """The tangents of all, and the output of each."""
    if len(members) == 1 or not members[0].is_multilinear:  # then all have the same
        return members[0].tangents, [member.output for member in members]
    parameters: dict[Hashable, Directions] = {}
    for name, slot in (pair for member in members for pair in _named(member)):
        parameters.setdefault(name, slot)
    places = {name: place for place, name in enumerate(parameters)}
    outputs = []
    for member in members:
        output = [0] * len(places)
        for (name, _), exponent in zip(_named(member), member.output, strict=True):
            output[places[name]] += exponent
        outputs.append(tuple(output))
    return dict(zip(units(len(places)), parameters.values(), strict=True)), outputs

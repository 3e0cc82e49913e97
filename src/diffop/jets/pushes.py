"""The jets that the engine pushes for weighted jets, and where each sum is read.

Jets with equal directions are pushed once. If every tangent has its own parameter, equal directions
may be one tangent among several: Δ sampled along e_i and ∂_jΔ sampled along e_i and e_j are outputs
t_1² and t_1² t_2 of the same jets.
"""

import itertools
import math
from collections.abc import Hashable, Iterable, Sequence, Set
from fractions import Fraction
from types import EllipsisType
from typing import Any, NamedTuple, final

import jax.numpy as jnp
import numpy as np

from ..algebra.algebra import Algebra, Exponents, units
from ..algebra.apolar import apolar
from ..connected import connected
from ..taylor import Jets, Matrix
from .directions import Directions, combine, stacked_directions, to_tangents
from .point import Point
from .sums import Reader, readers
from .weighted_jets import WeightedJets


@final
class Output(NamedTuple):
    """Where a derivative is read, and its factor.

    - `place`: of the output among the basis elements.
    - `number`: the factor.
    - `rows`: which leading entries of the output: a sum if it is `summed`, otherwise jets.
    """

    place: int
    number: float
    rows: EllipsisType | int | slice
    summed: bool


@final
class Reading(NamedTuple):
    """Where weighted jets are read: the number of the engine's jets, and the outputs that are added
    up. There are no outputs if the reading of others includes them.
    """

    pushed: int
    outputs: tuple[Output, ...] = ()


def to_push(wanted: Sequence[WeightedJets], point: Point) -> tuple[list[Jets], dict[int, Reading]]:
    """Everything that has to be pushed, once, and where weighted jets are read, by their `id`.

    First-order jets of unnamed directions share these with no others: all of them are stacked.
    """
    rest: dict[int, WeightedJets] = {}
    alone: dict[int, WeightedJets] = {}
    for jets in wanted:
        without_partners = jets.output == (1,) and jets.signature == (None,)
        (alone if without_partners else rest)[id(jets)] = jets
    # Reading the coefficients of single directions keeps them all in memory.
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
    """First-order jets of different directions, concatenated."""
    directions = stacked_directions([member.directions for member in members], point)
    ends = list(itertools.accumulate(member.size for member in members))
    readings = [
        Reading(number, (Output(0, 1.0, slice(end - member.size, end), False),))
        for member, end in zip(members, ends, strict=True)
    ]
    return Jets((to_tangents(directions, point),)), readings


def _together(members: list[WeightedJets], number: int, point: Point) -> tuple[Jets, list[Reading]]:
    """Jets with common tangents, in the algebra of everything that is read from them.

    The tops are collapsed with one row of weights for each sum that reads one, if that makes fewer
    sums than jets. Other outputs, outputs contracted with their directions, and those of draws that
    are told apart, are read from the coefficients that are kept jet by jet.
    """
    tangents, algebra, outputs = _carried(members, point)
    pairs = list(zip(members, outputs, strict=True))
    rows = [member.weights for member, own in pairs if any(each.summed for each in own)]
    weights = _stacked_weights(rows) if len(rows) > 1 else next(iter(rows), None)
    if members[0].matrix is not None:
        weights = Matrix(members[0].matrix)
    alone = all(
        each.place in algebra.tops and not member.contracted
        for member, own in pairs
        for each in own
    )
    jets = Jets(_moving(tangents, algebra, point), weights, alone, algebra)
    return jets, [Reading(number, tuple(own)) for own in outputs]


def _carried(
    members: Sequence[WeightedJets], point: Point | None
) -> tuple[dict[Exponents, Directions], Algebra, list[list[Output]]]:
    """The tangents of all members, the algebra that carries what is read, and the outputs of each
    member. p(∂) t^γ at 0 is γ! times the number of t^γ in p. Without a point any number may enter a
    series.
    """
    if len(members) == 1:
        tangents, output = members[0].tangents, members[0].output
        found, algebra = [Reader(0, {output: Fraction(1)})], Algebra.closure([output])
    else:
        tangents, exponents = _common(members)
        most = math.inf if point is None else _most(members, point)
        found = readers(members, exponents, most)
        algebra = apolar([each.polynomial for each in found], most)
    read = {
        member: {algebra.places[t]: float(c) for t, c in sums.items() if t in algebra.places}
        for member, sums in found
    }
    at_tops = [n for n in range(len(members)) if not algebra.tops.isdisjoint(read.get(n, ()))]
    # sums are read jet by jet if a reader needs each jet, if there are fewer jets than sums, and of
    # first order, where one direction would be one sum
    apart = any(members[n].contracted or np.ndim(members[n].weights) == 2 for n in at_tops)
    apart = apart or len(at_tops) > members[0].size or (algebra.degree == 1 and len(read) > 1)
    rows = {} if apart else {n: row for row, n in enumerate(at_tops)}
    outputs: list[list[Output]] = [[] for _ in members]
    for n, own in read.items():
        for place, ratio in own.items():
            summed = n in rows and place in algebra.tops
            row = rows[n] if summed and len(rows) > 1 else ...
            outputs[n].append(Output(place, ratio, row, summed))
    return tangents, algebra, outputs


def _moving(
    tangents: dict[Exponents, Directions], algebra: Algebra, point: Point
) -> tuple[Any, ...]:
    """The tangents of each basis element. If t^γ is a sum of several, so is v_γ t^γ/γ!."""
    parts: dict[int, list[tuple[float, Directions]]] = {}
    for exponents, slot in tangents.items():
        share = math.prod(map(math.factorial, exponents))
        for place, number in algebra.sums.get(exponents, ()):
            parts.setdefault(place, []).append((number * algebra.factorial(place) / share, slot))
    moving: list[Any] = [(None,) * len(point.args)] * len(algebra)
    for place, terms in parts.items():
        numbers, slots = zip(*terms, strict=True)
        sum_of = slots[0] if numbers == (1,) else combine(numbers, slots, point)
        moving[place] = to_tangents(sum_of, point)
    return tuple(moving)


def _most(members: Sequence[WeightedJets], point: Point) -> float:
    """The largest number, and the largest inverse of one, that may enter a series: in the narrowest
    type of the arguments, the values multiplied by it may be as far from one themselves.
    """
    moving = {argnum for jets in members for slot in jets.tangents.values() for argnum in slot}
    return math.sqrt(min(float(jnp.finfo(point.dtype(argnum)).max) for argnum in moving))


def _stacked_weights(weights: Sequence[Any]) -> Any:
    rows = [jnp.asarray(each) for each in weights]
    kind = jnp.result_type(*(row.dtype for row in rows))
    return jnp.stack([row.astype(kind) for row in rows])


def number_pushed(jets: Sequence[WeightedJets]) -> int:
    """How many jets are pushed; jets with equal directions count once."""
    return sum(members[0].size for members in grouped(jets))


@final
class Group(NamedTuple):
    """Weighted jets that are pushed together.

    - `members`: the weighted jets that are read.
    - `tangents`: all directions, by exponents.
    - `size`: the number of jets.
    - `coefficients`: how many there are beside the primal that are not zero. Maximal ones are
        collapsed to the sums that are read from them.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        (push,) = do.Laplacian().jets(jnp.ones(20)).pushes
        push.groups[0].coefficients  # 21
        ```
    """

    members: list[WeightedJets]
    tangents: dict[Exponents, Directions]
    size: int
    coefficients: int


def groups(jets: Sequence[WeightedJets]) -> list[Group]:
    """The groups of jets that are pushed together, each once."""
    return [_counted(members) for members in grouped(jets)]


def _counted(members: list[WeightedJets]) -> Group:
    tangents, algebra, outputs = _carried(members, None)
    size, moving = members[0].size, _reached(tangents, algebra)
    total = size * len(moving - algebra.tops)
    for top in moving & algebra.tops:
        summed = [each.summed for own in outputs for each in own if each.place == top]
        total += sum(summed) + (False in summed) * size
    return Group(members, tangents, size, total)


def _reached(tangents: Iterable[Exponents], algebra: Algebra) -> Set[int]:
    """The places of products of the tangents' monomials. Other coefficients are zero."""
    reached: set[Exponents] = {(0,) * len(algebra.grading)}
    for whole in algebra.monomials:
        rests = (tuple(a - b for a, b in zip(whole, t, strict=True)) for t in tangents)
        if not reached.isdisjoint(rests):
            reached.add(whole)
    return {place for place, each in enumerate(algebra.monomials) if each in reached}


def grouped(
    jets: Sequence[WeightedJets], separate_outputs: bool = False
) -> list[list[WeightedJets]]:
    """Jets grouped by what is pushed together; with `separate_outputs` only for the same output."""
    if len(jets) == 1:
        return [list(jets)]
    groups = connected([_keys(each, separate_outputs) for each in jets])
    return [[jets[number] for number in group] for group in groups]


def _keys(jets: WeightedJets, separate_outputs: bool) -> set[Hashable]:
    """What others must share with these jets to be pushed with them; nothing if directions meet
    through a matrix.
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
    """The directions with their names, in order; unnamed ones are equal to no others."""
    return [
        (("unnamed", id(slot)) if name is None else name, slot)
        for name, slot in zip(jets.signature, jets.slots, strict=True)
    ]


def _common(
    members: Sequence[WeightedJets],
) -> tuple[dict[Exponents, Directions], list[Exponents]]:
    """The tangents of all members, and the output of each."""
    if not members[0].is_multilinear:  # all members then have the same
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

"""Which jets are pushed together, and what is read of them.

Jets with equal directions are pushed once. Where every tangent has a parameter of its own, equal
directions may be one tangent among several: Δ sampled along e_i and ∂_jΔ sampled along e_i and e_j
are outputs t_1² and t_1² t_2 of the same jets.
"""

import itertools
from collections.abc import Hashable, Sequence
from types import EllipsisType
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from ..taylor import Jets
from ..taylor.truncation import Exponents, Truncation
from .directions import Directions, count, stack, tangents
from .point import Point
from .weighted_jets import WeightedJets


@final
class Push:
    """Jets that are pushed once: their common tangents, and for each member what it reads.

    The maximal outputs are collapsed with one row of weights for each member that reads one, where
    that makes fewer sums than jets: `summed` are these members. Other outputs, and those contracted
    with their directions, are read from the coefficients that are kept jet by jet.
    """

    def __init__(self, members: Sequence[WeightedJets], stacked: Directions | None = None) -> None:
        """`stacked`: first-order jets of different directions one after the other."""
        self.members = list(members)
        first = self.members[0]
        if stacked is not None:
            self._tangents: dict[Exponents, Directions] = {(1,): stacked}
            outputs = [member.output for member in self.members]
        elif not first.is_multilinear:  # then all have the same tangents
            self._tangents = first.tangents
            outputs = [member.output for member in self.members]
        else:
            parameters = _parameters(self.members)
            places = {name: place for place, name in enumerate(parameters)}
            self._tangents = {
                _unit(places[name], len(places)): directions
                for name, directions in parameters.items()
            }
            outputs = [_embedded(member, places) for member in self.members]
        self.size = count(next(iter(self._tangents.values())))
        self.truncation = Truncation.closure(outputs)
        self._places = {
            id(member): self.truncation.places[output]
            for member, output in zip(self.members, outputs, strict=True)
        }
        sizes = [0 if stacked is None else member.size for member in self.members]
        starts = itertools.accumulate(sizes[:-1], initial=0)
        self._starts = {id(m): start for m, start in zip(self.members, starts, strict=True)}
        self.summed = self._summed()

    @property
    def coefficients(self) -> int:
        """How many there are beside the primal, the maximal ones collapsed to one sum each."""
        tops = len(self.truncation.tops)
        return self.size * (len(self.truncation) - tops) + tops

    def place(self, member: WeightedJets) -> int:
        """Of the output that a member reads."""
        return self._places[id(member)]

    def jets(self, point: Point) -> Jets:
        """What the engine pushes."""
        moving = {
            exponents: tangents(directions, point)
            for exponents, directions in self._tangents.items()
        }
        still = (None,) * len(point.args)
        return Jets(
            tangents=tuple(moving.get(monomial, still) for monomial in self.truncation.monomials),
            weights=self._weights() if self.summed else None,
            top_only=len(self.summed) == len(self.members),
            truncation=self.truncation,
        )

    def rows(self, member: WeightedJets) -> EllipsisType | int | slice:
        """Which of an output's leading entries belong to a member: sums where it is `summed`, else
        jets.
        """
        if not any(other is member for other in self.summed):
            start = self._starts[id(member)]
            return slice(start, start + member.size)
        if len(self.summed) == 1:
            return ...
        before = itertools.takewhile(lambda other: other is not member, self.summed)
        start = sum(map(_height, before))
        return start if np.ndim(member.weights) == 1 else slice(start, start + _height(member))

    def _summed(self) -> list[WeightedJets]:
        tops = [
            member
            for member in self.members
            if self.place(member) in self.truncation.tops and not member.contracted
        ]
        worthwhile = self.truncation.degree > 1 or len(tops) == len(self.members) == 1
        return tops if worthwhile and sum(map(_height, tops)) <= self.size else []

    def _weights(self) -> Any:
        if len(self.summed) == 1:
            return self.summed[0].weights
        rows = [jnp.atleast_2d(jnp.asarray(member.weights)) for member in self.summed]
        kind = jnp.result_type(*(row.dtype for row in rows))
        return jnp.concatenate([row.astype(kind) for row in rows])


def _height(member: WeightedJets) -> int:
    """How many sums are read."""
    return 1 if np.ndim(member.weights) == 1 else member.weights.shape[0]


def pushes_of(jets: Sequence[WeightedJets], point: Point) -> list[Push]:
    """All that has to be pushed, once."""
    single = [each for each in jets if each.signature == (None,) and each.order == 1]
    alone = {id(each) for each in single}
    # What is read from the coefficients of single directions keeps them all in memory.
    separate = point.chunk is not None
    pushes = together([each for each in jets if id(each) not in alone], separate)
    return [*pushes, _stacked(single, point)] if single else pushes


def _stacked(members: list[WeightedJets], point: Point) -> Push:
    """First-order jets of different directions in one push."""
    if len(members) == 1:
        return Push(members)
    argnums = sorted({argnum for member in members for argnum in member.directions})
    directions = {
        argnum: stack([(m.directions.get(argnum), m.size) for m in members], argnum, point)
        for argnum in argnums
    }
    return Push(members, directions)


def together(jets: Sequence[WeightedJets], separate_outputs: bool = False) -> list[Push]:
    """The jets in groups; with `separate_outputs` those alone that read one output."""
    groups: list[tuple[set[Hashable], list[WeightedJets]]] = []
    for each in jets:
        keys = _keys(each, separate_outputs)
        touching = [group for group in groups if group[0] & keys]
        groups = [group for group in groups if not group[0] & keys]
        for others, members in touching:
            keys |= others
        members = [member for _, group in touching for member in group]
        groups.append((keys, [*members, each]))
    return [Push(members) for _, members in groups]


def _keys(jets: WeightedJets, separate_outputs: bool) -> set[Hashable]:
    """What others must share with these jets to be pushed with them."""
    names = _names(jets)
    if not jets.is_multilinear:
        names = [(tuple(jets.tangents), tuple(names))]
    return {(name, jets.output) if separate_outputs else name for name in names}


def _names(jets: WeightedJets) -> list[Hashable]:
    """The name of each tangent; directions without one are like no others."""
    return [
        ("unnamed", id(directions)) if name is None else name
        for name, directions in zip(jets.signature, jets.tangents.values(), strict=True)
    ]


def _parameters(members: Sequence[WeightedJets]) -> dict[Hashable, Directions]:
    """The different tangents, in the order of their parameters."""
    parameters: dict[Hashable, Directions] = {}
    for member in members:
        for name, directions in zip(_ordered(member), _by_parameter(member), strict=True):
            parameters.setdefault(name, directions)
    return parameters


def _by_parameter(member: WeightedJets) -> list[Directions]:
    return [directions for _, directions in sorted(member.tangents.items(), reverse=True)]


def _ordered(member: WeightedJets) -> list[Hashable]:
    """The names of the tangents by their parameter."""
    pairs = zip(member.tangents, _names(member), strict=True)
    return [name for _, name in sorted(pairs, key=lambda pair: pair[0], reverse=True)]


def _embedded(member: WeightedJets, places: dict[Hashable, int]) -> Exponents:
    """A member's output in the parameters of all."""
    output = [0] * len(places)
    for name, exponent in zip(_ordered(member), member.output, strict=True):
        output[places[name]] += exponent
    return tuple(output)


def _unit(place: int, length: int) -> Exponents:
    return tuple(int(p == place) for p in range(length))

"""Which jets are pushed together.

Jets with equal directions are pushed once. Where every tangent has a parameter of its own, equal
directions may be one tangent among several: Δ sampled along e_i and ∂_jΔ sampled along e_i and e_j
are outputs t_1² and t_1² t_2 of the same jets.
"""

from collections.abc import Hashable, Sequence
from typing import final

from ..taylor.truncation import Exponents, Truncation
from .directions import Directions, count
from .weighted_jets import WeightedJets


@final
class Together:
    """Jets that are pushed once: their common tangents, and for each member the output it reads."""

    def __init__(self, members: Sequence[WeightedJets], stacked: Directions | None = None) -> None:
        """`stacked`: first-order jets of different directions one after the other."""
        self.members = list(members)
        first = self.members[0]
        self.size = first.size if stacked is None else count(stacked)
        if stacked is not None:
            self.tangents: dict[Exponents, Directions] = {(1,): stacked}
            self.outputs = [member.output for member in self.members]
        elif not first.is_multilinear:  # then all have the same tangents
            self.tangents = first.tangents
            self.outputs = [member.output for member in self.members]
        else:
            parameters = _parameters(self.members)
            places = {name: place for place, name in enumerate(parameters)}
            self.tangents = {
                _unit(places[name], len(places)): directions
                for name, directions in parameters.items()
            }
            self.outputs = [_embedded(member, places) for member in self.members]
        self.truncation = Truncation.closure(self.outputs)

    @property
    def coefficients(self) -> int:
        """How many there are beside the primal, the maximal ones collapsed to one sum each."""
        tops = len(self.truncation.tops)
        return self.size * (len(self.truncation) - tops) + tops


def together(jets: Sequence[WeightedJets], separate_outputs: bool = False) -> list[Together]:
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
    return [Together(members) for _, members in groups]


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

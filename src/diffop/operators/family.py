"""Jets that are pushed together, as the Taylor engine takes them."""

from collections.abc import Sequence
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from .. import taylor
from ..jets.directions import stack, tangents
from ..jets.families import Together, together
from ..jets.point import Point
from ..jets.weighted_jets import WeightedJets


@final
class Family:
    """Jets that are pushed together, with what is wanted of them.

    The maximal outputs are collapsed with one row of weights for each member that reads one, where
    that makes fewer sums than jets. Other outputs, and those contracted with their directions, are
    read from the coefficients that are kept jet by jet.
    """

    def __init__(self, jets: Together, point: Point) -> None:
        self.members = jets.members
        self.size = jets.size
        self.truncation = jets.truncation
        self.outputs = {
            id(member): self.truncation.places[output]
            for member, output in zip(jets.members, jets.outputs, strict=True)
        }
        self.offsets: dict[int, int] = {}
        tops = [
            member
            for member in self.members
            if self.outputs[id(member)] in self.truncation.tops and not member.contracted
        ]
        summed = self.truncation.degree > 1 or len(tops) == len(self.members) == 1
        self.top = tops if summed and sum(map(_height, tops)) <= self.size else []
        moving = {
            exponents: tangents(directions, point)
            for exponents, directions in jets.tangents.items()
        }
        still = (None,) * len(point.args)
        self.jets = taylor.Jets(
            tangents=tuple(moving.get(monomial, still) for monomial in self.truncation.monomials),
            weights=self._weights() if self.top else None,
            top_only=len(self.top) == len(self.members),
            truncation=self.truncation,
        )

    def _weights(self) -> Any:
        if len(self.top) == 1:
            return self.top[0].weights
        rows = [jnp.atleast_2d(jnp.asarray(member.weights)) for member in self.top]
        kind = jnp.result_type(*(row.dtype for row in rows))
        return jnp.concatenate([row.astype(kind) for row in rows])

    def rows(self, member: WeightedJets) -> Any:
        """Which sums of its output belong to a member."""
        if len(self.top) == 1:
            return ...
        start = 0
        for other in self.top:
            height = _height(other)
            if other is member:
                return start if np.ndim(other.weights) == 1 else slice(start, start + height)
            start += height
        raise KeyError("not a member of this family")


def _height(member: WeightedJets) -> int:
    """How many sums are read."""
    return 1 if np.ndim(member.weights) == 1 else member.weights.shape[0]


def families_of(jets: Sequence[WeightedJets], point: Point) -> list[Family]:
    """All that has to be pushed, once."""
    single = [each for each in jets if each.signature == (None,) and each.order == 1]
    alone = {id(each) for each in single}
    # What is read from the coefficients of single directions keeps them all in memory.
    separate = point.chunk is not None
    groups = together([each for each in jets if id(each) not in alone], separate)
    families = [Family(group, point) for group in groups]
    if single:
        families.append(_stacked(single, point))
    return families


def _stacked(members: list[WeightedJets], point: Point) -> Family:
    """First-order jets of different directions as one family."""
    if len(members) == 1:
        return Family(Together(members), point)
    argnums = sorted({argnum for member in members for argnum in member.directions})
    directions = {
        argnum: stack([(m.directions.get(argnum), m.size) for m in members], argnum, point)
        for argnum in argnums
    }
    family = Family(Together(members, directions), point)
    start = 0
    for member in members:
        family.offsets[id(member)] = start
        start += member.size
    return family

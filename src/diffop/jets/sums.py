"""What the engine need not carry apart, because derivatives are only added up.

In the Korteweg-de Vries equation u_ty + u_xxxy is all that is wanted of both. Two things follow.

*Maximal outputs are joined.* They enter every rule linearly, so their sum can be carried in their
stead, as that over directions is: one coefficient instead of two.

*Parameters are lifted.* With v_{s³} = ρ e_t for a tangent beside v_s = e_x, v_y = e_y, the output
s³y is (∂_x³ + ρ ∂_t) ∂_y u: ∂_t needs no parameter, and no coefficient, of its own. In general an
output s^a m with k ≤ a < 2k holds

    (∂_s^a + C(a, k) ρ ∂_t ∂_s^{a−k}) m u,

for at most one block of k parameters fits in. So a parameter t may be lifted to ρ s^k where all
outputs with t are the second of these terms, in a sum that has them in that proportion, with ρ the
same for all; and where all outputs with s^k are the first. Everything that is carried is a sum of
what would have been carried, so no digits are lost.
"""

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeGuard, final

import numpy as np

from ..taylor.truncation import Exponents, Truncation
from .weighted_jets import WeightedJets

Part: TypeAlias = tuple[int, int, float]
"""The number of a member, that of another, and what the first is multiplied with in being added."""


@final
class Lift(NamedTuple):
    """A parameter t in the place of which there is a tangent ρ v_t at s^k.

    - `parameter`, `base`, `power`, `ratio`: t, s, k and ρ.
    - `parts`: which outputs are parts of others then.
    """

    parameter: int
    base: int
    power: int
    ratio: float
    parts: frozenset[int]


def joined(
    members: Sequence[WeightedJets],
    places: Mapping[int, int],
    truncation: Truncation,
    most: float,
) -> list[Part]:
    """Of each sum the maximal outputs that nothing else reads, as parts of the one with the largest
    number. Some members are read, at their places. What a part is multiplied with is not smaller
    than 1/`most`, nor larger than that.
    """
    sums: dict[Hashable, list[int]] = {}
    for number in _addends(members, places) if len(members) > 1 else ():
        addend = members[number].addend
        if places[number] in truncation.tops and addend is not None:
            sums.setdefault(addend[0], []).append(number)
    result: list[Part] = []
    for numbers in sums.values():
        first = max(numbers, key=lambda number: _size(members[number]))
        for number in numbers:
            ratio = _ratio(members[number], members[first])
            if number != first and _is_in_range(ratio, most):
                result.append((number, first, ratio))
    return result


def lifts(members: Sequence[WeightedJets], outputs: Sequence[Exponents], most: float) -> list[Lift]:
    """Parameters that can be lifted, all to one power: two might meet in one output. Neither ρ nor
    1/ρ is larger than `most`.
    """
    found: list[Lift] = []
    if len(members) > 1 and all(member.is_multilinear for member in members):
        for parameter in range(len(outputs[0])):
            usable = (
                lift
                for lift in _lifts(members, outputs, parameter)
                if _agrees(lift, found) and _is_in_range(lift.ratio, most)
            )
            found += itertools.islice(usable, 1)
    return found


def _is_in_range(ratio: float | None, most: float) -> TypeGuard[float]:
    return ratio is not None and 1 / most <= abs(ratio) <= most


def _agrees(lift: Lift, found: Sequence[Lift]) -> bool:
    return all((lift.base, lift.power) == (other.base, other.power) for other in found)


def _lifts(
    members: Sequence[WeightedJets], outputs: Sequence[Exponents], parameter: int
) -> Iterator[Lift]:
    """All ways to lift a parameter."""
    alone = _addends(members, dict(enumerate(outputs)))
    numbers = {outputs[number]: number for number in alone}
    having = {output for output in outputs if output[parameter]}
    for base in range(len(outputs[0])):
        most = max(output[base] for output in outputs)
        for power in range(2, most + 1 if base != parameter else 0):
            holders = {output for output in outputs if output[base] >= power}
            partners = {each: _partner(each, base, power, parameter) for each in holders}
            fits = all(each in numbers and each[base] < 2 * power for each in holders)
            if not fits or set(partners.values()) != having or not having <= numbers.keys():
                continue
            ratios = {
                None if ratio is None else ratio / math.comb(holder[base], power)
                for holder, partner in partners.items()
                for ratio in [_ratio(members[numbers[partner]], members[numbers[holder]])]
            }
            if len(ratios) == 1 and None not in ratios:
                (ratio,) = ratios
                assert ratio is not None
                parts = frozenset(numbers[partner] for partner in having)
                yield Lift(parameter, base, power, ratio, parts)


def _partner(output: Exponents, base: int, power: int, parameter: int) -> Exponents:
    """The output with t in the place of s^k."""
    changed = list(output)
    changed[base] -= power
    changed[parameter] += 1
    return tuple(changed)


def _addends(members: Sequence[WeightedJets], outputs: Mapping[int, Hashable]) -> list[int]:
    """The members that are only added to others, their outputs being read for nothing else."""
    readers = Counter(outputs.values())
    return [
        number
        for number, output in outputs.items()
        if members[number].addend is not None
        and not members[number].contracted
        and readers[output] == 1
    ]


def _size(member: WeightedJets) -> float:
    return abs(_number(member))


def _number(member: WeightedJets) -> float:
    assert member.addend is not None  # by _addends
    return float(member.addend[1])


def _ratio(member: WeightedJets, other: WeightedJets) -> float | None:
    """By what the first is a multiple of the second in their sum: None where it is no known number,
    the same for all jets, or they belong to different sums.
    """
    assert member.addend is not None and other.addend is not None
    factor = _proportion(member.weights, other.weights)
    if factor is None or member.addend[0] != other.addend[0] or not _number(other):
        return None
    return _number(member) / _number(other) * factor


def _proportion(weights: Any, others: Any) -> float | None:
    known = isinstance(weights, np.ndarray) and isinstance(others, np.ndarray)
    if not known or weights.shape != others.shape or weights.ndim != 1 or not others[0]:
        return None
    factor = weights[0] / others[0]
    return float(factor) if factor and np.array_equal(weights, factor * others) else None

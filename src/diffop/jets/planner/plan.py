"""Choosing among candidate schemes, by cost and conditioning."""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, final

from ..cost import Cost, cost
from ..expansion import Alpha, alpha_text, word_of
from ..scheme import Scheme
from .nested import nested
from .paper import HIGHEST, paper
from .power import power

_CANDIDATES: dict[str, Callable[[Sequence[Alpha]], Scheme | None]] = {
    "nested": nested,
    "power": power,
    "paper": paper,
}
KINDS = ("auto", *_CANDIDATES)
Kind: TypeAlias = str | Scheme
"""Which plan: "auto", the name of a candidate, or a scheme written by hand."""

_WORTH = 2
"""A curve with coprime tangents carries at least half as many coefficients as its order."""


@final
class Planned(NamedTuple):
    """A scheme, its cost, and the costs of the other candidates by their names."""

    scheme: Scheme
    cost: Cost
    others: dict[str, Cost]


def plan(wanted: Sequence[Alpha], kind: Kind = "auto") -> Planned:
    """The scheme of a set of mixed derivatives.

    **Arguments:**

    - `wanted`: different mixed derivatives.
    - `kind`: "auto" for the candidate with the least score, the name of a candidate, or a scheme
        written by hand.

    **Raises:** `ValueError` where a candidate that is asked for does not exist, or a scheme by hand
    does not hold a derivative that is wanted.
    """
    if isinstance(kind, Scheme):
        return _by_hand(kind, wanted)
    return _planned(tuple(sorted(wanted, key=repr)), kind)


@functools.lru_cache(maxsize=4096)
def _planned(wanted: tuple[Alpha, ...], kind: str) -> Planned:
    if kind != "auto":
        scheme = _CANDIDATES[kind](wanted)
        if scheme is None:
            raise ValueError(
                f"no curve with several tangents up to order {HIGHEST} has all of "
                f"{', '.join(map(alpha_text, wanted))} without contaminants that no simple curve "
                'can correct; use plan="nested" or leave the choice to the planner.'
            )
        return Planned(scheme, cost(scheme), {})
    schemes: dict[str, Scheme | None] = {"nested": nested(wanted), "power": power(wanted)}
    fewest = min(cost(scheme).coefficients for scheme in schemes.values() if scheme is not None)
    schemes["paper"] = paper(wanted, min(HIGHEST, _WORTH * fewest), thorough=False)
    costs = {name: cost(scheme) for name, scheme in schemes.items() if scheme is not None}
    best = min(costs, key=lambda name: costs[name].score)
    scheme = schemes[best]
    assert scheme is not None
    return Planned(scheme, costs.pop(best), costs)


def _by_hand(scheme: Scheme, wanted: Sequence[Alpha]) -> Planned:
    missing = [alpha_text(alpha) for alpha in wanted if alpha not in scheme.readouts]
    if missing:
        raise ValueError(
            f"the plan reads {', '.join(map(alpha_text, scheme.readouts))}, but not "
            f"{', '.join(missing)}, which the operator needs; add a readout for it."
        )
    chosen = Scheme({word_of(alpha): scheme.readouts[alpha] for alpha in wanted}, scheme.name)
    return Planned(chosen, cost(chosen), {})

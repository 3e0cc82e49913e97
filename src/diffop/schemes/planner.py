"""Choosing among candidate schemes, by cost and conditioning."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, final

from .cost import Cost, cost
from .expansion import Alpha, alpha_text, word_of
from .nested import nested
from .power import power
from .scheme import Scheme

_CANDIDATES = {"nested": nested, "power": power}
_MOST = 512
"""Of a derivative with more divisors than this, powers are not tried. They take half as many
directions, each of which is expanded to the full order in exact arithmetic: minutes, for a scheme
that costs two to three times as much as the nested one where both were made.
"""
KINDS = ("auto", *_CANDIDATES)
Kind: TypeAlias = str | Scheme | Callable[[tuple[Alpha, ...]], Scheme]
"""A plan: "auto", the name of a candidate, a scheme written by hand, or a function to one."""


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
    - `kind`: "auto" for the candidate with the least score, the name of a candidate, a scheme
        written by hand, or a function from the wanted derivatives to a scheme.

    **Raises:** `ValueError` if a scheme does not hold a wanted derivative, `TypeError` for a
    function that returns something else.
    """
    wanted = tuple(sorted(wanted, key=repr))
    if isinstance(kind, str):
        return _planned(wanted, kind)
    scheme = kind if isinstance(kind, Scheme) else kind(wanted)
    if not isinstance(scheme, Scheme):
        raise TypeError(
            "a plan that is a function makes a diffop.schemes.Scheme of the derivatives that are "
            f"wanted; got {scheme!r} of type {type(scheme).__name__}."
        )
    return _by_hand(scheme, wanted)


@functools.lru_cache(maxsize=4096)
def _planned(wanted: tuple[Alpha, ...], kind: str) -> Planned:
    divisors = max(math.prod(order + 1 for _, order in alpha) for alpha in wanted)
    tried = tuple(_CANDIDATES) if divisors <= _MOST else ("nested",)
    names = tried if kind == "auto" else (kind,)
    schemes = {name: _CANDIDATES[name](wanted) for name in names}
    costs = {name: cost(scheme) for name, scheme in schemes.items()}
    best = min(costs, key=lambda name: costs[name].score)
    return Planned(schemes[best], costs.pop(best), costs)


def _by_hand(scheme: Scheme, wanted: Sequence[Alpha]) -> Planned:
    missing = [alpha_text(alpha) for alpha in wanted if alpha not in scheme.readouts]
    if missing:
        raise ValueError(
            f"the plan reads {', '.join(map(alpha_text, scheme.readouts))}, but not "
            f"{', '.join(missing)}, which the operator needs; add a readout for it."
        )
    chosen = Scheme({word_of(alpha): scheme.readouts[alpha] for alpha in wanted}, scheme.name)
    return Planned(chosen, cost(chosen), {})

"""The draw of an estimate, checked at the call that makes it."""

from collections.abc import Sequence
from typing import Any

import jax

from ..jets.terms import Factors
from ..probes import (
    NAMED as NAMED,
    AbstractProbe as AbstractProbe,
    Stratified,
    Systematic,
    as_probe as as_probe,
)
from ..probes.base import Draw
from ..scalars import described, is_integer, plain
from ..streams import checked_key, is_key_array
from ..terms.arguments import is_operator
from ..terms.products import has_probe
from ..terms.term import Part, Segment


def make_draw(key: Any, n: Any, probes: Any) -> Draw:
    """Checks key, n and probes, and makes a draw of them."""
    key = checked_key(key, "an estimate")
    given, n = n, plain(n)
    if not is_integer(n):
        raise TypeError(
            f"n, the number of draws, must be a Python integer; got {described(given)}."
        )
    if n.__index__() < 1:
        raise ValueError(f"n, the number of draws, must be at least 1; got {n}.")
    typed = key if is_key_array(key) else jax.random.wrap_key_data(key)  # one kind, to compare
    return Draw(typed, n.__index__(), as_probe(probes))


def check_probes(parts: Sequence[Part], probe: AbstractProbe) -> None:
    """Refuses probes that are biased for an operator, at the call that asks for them."""
    for segment in _segments(parts):
        if not has_probe(segment.product, probe):
            raise ValueError(_biased(segment.product, probe, segment.text))


def supports(parts: Sequence[Part], probe: AbstractProbe) -> bool:
    """Whether probes are unbiased for all of an operator."""
    return all(has_probe(segment.product, probe) for segment in _segments(parts))


def is_unsampled(operator: Any) -> bool:
    """Whether it is an operator and not an estimate of one."""
    return is_operator(operator) and all(part.draw is None for part in operator.parts)


def without_error(probe: AbstractProbe, n: int) -> str | None:
    """Why n draws of many terms have no standard error; None if they have one."""
    if not isinstance(probe, Systematic | Stratified):
        return None
    return probe.select(jax.random.key(0), 4 * n, n).unknown


def _segments(parts: Sequence[Part]) -> list[Segment]:
    """The derivatives in an operator."""
    words = [term.word for part in parts for term in part.terms]
    return [segment for word in words for segment in word if segment.factors]


def _biased(factors: Factors, probe: AbstractProbe, name: str) -> str:
    possible = [n for n, each in NAMED.items() if n != "auto" and each.supports(factors)]
    return (
        f"{probe.name} probes are biased for {name}: no such random jets have it as their "
        f"expectation. Unbiased for it: {', '.join(possible)}."
    )

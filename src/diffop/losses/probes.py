"""How a loss evaluates its operators: exactly, by random jets, or by a baseline."""

from collections.abc import Callable
from typing import Any, TypeAlias

from jaxtyping import PyTree

from .. import baselines
from ..baselines import AbstractBaseline
from ..estimators.draws import NAMED, AbstractProbe, as_probe
from ..estimators.together import estimate, exact

Probes: TypeAlias = AbstractProbe | AbstractBaseline | None
"""None if operators are exact."""

PROBES = ("exact", *NAMED)
"""The names, without those of baselines."""


def as_probes(given: Any) -> Probes:
    """Probes from themselves or their name.

    **Raises:** `ValueError` for anything else.
    """
    if given is None or isinstance(given, AbstractProbe | AbstractBaseline):
        return given  # already converted
    name = given if isinstance(given, str) else None
    if name in baselines.names():
        return baselines.as_baseline(name)
    if name not in PROBES:
        raise ValueError(
            f"a loss expects probes among {', '.join(PROBES)}, one of diffop.probes, or a baseline "
            f"among {', '.join(baselines.names())}, got {given!r}."
        )
    return None if name == "exact" else as_probe(name)


def exact_name(probes: Probes) -> str | None:
    """The name of probes without anything random; None for others."""
    if probes is None:
        return "exact"
    return probes.name if isinstance(probes, AbstractBaseline) and not probes.random else None


def joint(probes: Probes, ops: PyTree, key: Any, n: Any) -> Callable[[Callable], Callable]:
    """All operators together, with a draw of jets."""
    if probes is None:
        return exact(ops)
    if isinstance(probes, AbstractBaseline):
        return baselines.estimate(probes, ops, key, n)
    return estimate(ops, key, n, probes=probes)

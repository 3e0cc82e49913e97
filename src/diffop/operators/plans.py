"""The plans of operators: what `.jets()` shows."""

from collections.abc import Sequence
from typing import Any

from ..jets.point import Point
from ..jets.table import Plan, PlanRow, ResolvedPlan, describe
from .evaluate import Draw, Part, segment_jets
from .term import Segment, Word


def plan(parts: Sequence[Part]) -> Plan:
    """The plan as formulas in d: one row for each segment of each term."""
    rows: list[PlanRow] = []
    for part in parts:
        draws = None if part.draw is None else part.draw.n
        probes = "auto" if part.draw is None else part.draw.probes
        for term in part.terms:
            for segment in term.word:
                factors = list(zip(segment.factors, segment.powers, strict=True))
                rows.append(describe(segment.text, factors, draws, probes))
            if not term.word:
                rows.append(describe("I", [], draws, probes))
    return Plan(rows)


def resolved_plan(parts: Sequence[Part], args: tuple[Any, ...]) -> ResolvedPlan:
    """The jets at a point."""
    point = Point(args)
    requests = [
        request for part in parts for term in part.terms for request in _by_depth(term.word, part)
    ]
    jets = segment_jets(requests, point)
    found = [
        (s.text, each) for (s, _), each in zip(requests, jets, strict=True) if each is not None
    ]
    return ResolvedPlan([name for name, _ in found], [each for _, each in found])


def _by_depth(word: Word, part: Part) -> list[tuple[Segment, Draw | None]]:
    """Each segment with its draw: those applied first have draws of their own."""
    requests, draw = [], part.draw
    for segment in word:
        requests.append((segment, draw))
        draw = None if draw is None else draw.inner()
    return requests

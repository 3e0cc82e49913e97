"""The plans of operators: what `.jets()` shows."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import equinox as eqx
import jax
from jax.core import Tracer

from ..jets.point import Point
from ..jets.table import Plan, PlanRow, ResolvedPlan
from ..probes.base import Draw
from ..schemes import planner
from ..schemes.expansion import Alpha
from ..schemes.planner import Kind, Planned
from .arguments import checked_plan
from .evaluate import segment_jets
from .rewriting import product_rule
from .rows import describe, describe_derivative
from .term import Part, Segment, Word

_I = Segment((), (), ())


def plan_of(parts: Sequence[Part], args: tuple[Any, ...], kind: Any) -> Plan | ResolvedPlan:
    """The plan as formulas in d, or at a point if u's arguments are given."""
    kind = checked_plan(kind)
    return resolved_plan(parts, args, kind) if args else symbolic_plan(parts, kind)


def symbolic_plan(parts: Sequence[Part], kind: Kind) -> Plan:
    """The plan as formulas in d: one row for each segment of each term."""
    segments = [(s, part.draw) for part in parts for term in part.terms for s in term.word or (_I,)]
    together = jointly(dict.fromkeys(s.derivative for s, _ in segments), kind)
    rows: list[PlanRow] = []
    planned = [] if together is None else [together]
    for segment, draw in segments:
        if segment.derivative is not None and together is not None:
            rows.append(describe_derivative(segment.text, segment.derivative, together.scheme))
            continue
        draws, probe = (None, None) if draw is None else (draw.n, draw.probe)
        row, own = describe(segment.text, segment.product, draws, probe, kind)
        rows.append(row)
        planned += [] if own is None else [own]
    return Plan(rows, planned)


def jointly(wanted: Iterable[Alpha | None], kind: Kind) -> Planned | None:
    """The derivatives with respect to single coordinates, planned together."""
    alphas = [alpha for alpha in wanted if alpha is not None]
    return planner.plan(alphas, kind) if alphas else None


def resolved_plan(parts: Sequence[Part], args: tuple[Any, ...], kind: Kind) -> ResolvedPlan:
    """The jets at a point. For a point given by its shape, arrays become shapes too."""
    point = Point(args, plan=kind)
    shapes = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves(args))
    if shapes and not all(map(_is_constant, parts)):
        return _traced(lambda point: _resolved(parts, point), point)
    return _resolved(parts, point)


def _is_constant(part: Part) -> bool:
    factors = [f for term in part.terms for segment in term.word for f in segment.factors]
    return all(factor.constant for factor in factors)


def _traced(resolve: Callable[[Point], ResolvedPlan], point: Point) -> ResolvedPlan:
    """The plan by tracing alone: known arrays, and the shapes of all others."""
    known: list[tuple[tuple[str, ...], Any]] = []

    def jets(point: Point) -> Any:
        plan = resolve(point)
        traced, rest = eqx.partition(plan.jets, lambda leaf: isinstance(leaf, Tracer))
        known.append((plan.names, rest))
        return traced

    shapes = eqx.filter_eval_shape(jets, point)
    ((names, rest),) = known
    return ResolvedPlan(names, eqx.combine(shapes, rest))


def _resolved(parts: Sequence[Part], point: Point) -> ResolvedPlan:
    requests = [
        request
        for part in parts
        for term in part.terms
        for each in product_rule(term, point)
        for request in _by_depth(each.word, part)
    ]
    jets = segment_jets(requests, point)
    found = [
        (segment.text, each)
        for (segment, _), wanted in zip(requests, jets, strict=True)
        for each in wanted or ()
    ]
    return ResolvedPlan([name for name, _ in found], [each for _, each in found])


def _by_depth(word: Word, part: Part) -> list[tuple[Segment, Draw | None]]:
    """Each segment with its draw: operators that are applied first have independent draws."""
    requests, draw = [], part.draw
    for segment in word:
        requests.append((segment, draw))
        draw = None if draw is None else draw.inner()
    return requests

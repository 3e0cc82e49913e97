"""The plans of operators: what `.jets()` shows."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
from jax.core import Tracer

from ..jets.point import Point
from ..jets.table import Plan, PlanRow, Push, ResolvedPlan
from ..schemes.expansion import Alpha
from ..schemes.names import PlanKind, scheme_of
from ..schemes.scheme import Scheme
from .arguments import checked_plan
from .evaluate import flattened, head_jets, head_of, inner_part
from .inner import InnerFunction, inner_parts
from .least import fewest
from .rewriting import rewritten
from .rows import describe, describe_derivative
from .term import Part, Request, Segment, text

Operators: TypeAlias = Sequence[Sequence[Part]]
"""Several operators, each a list of parts."""


def plan_of(operators: Operators, args: tuple[Any, ...], kind: Any) -> Plan | ResolvedPlan:
    """The plan as formulas in d, or at a point if u's arguments are given."""
    kind = checked_plan(kind)
    return resolved_plan(operators, args, kind) if args else symbolic_plan(operators, kind)


def symbolic_plan(operators: Operators, kind: PlanKind) -> Plan:
    """The plan as formulas in d: one row for each segment of each term."""
    parts = [part for own in operators for part in (*own, *inner_parts(own))]
    segments = [
        (s, part.draw) for part in parts for term in part.terms for s in term.word or (Segment(),)
    ]
    together = jointly(dict.fromkeys(s.derivative for s, _ in segments), kind)
    rows: list[PlanRow] = []
    schemes = [] if together is None else [together]
    for segment, draw in segments:
        if segment.derivative is not None and together is not None:
            rows.append(describe_derivative(segment.text, segment.derivative, together))
            continue
        draws, probe = (None, None) if draw is None else (draw.n, draw.probe)
        row, own = describe(segment.text, segment.product, draws, probe, kind)
        rows.append(row)
        schemes += [] if own is None else [own]
    return Plan(rows, schemes)


def jointly(wanted: Iterable[Alpha | None], kind: PlanKind) -> Scheme | None:
    """The scheme of all derivatives with respect to single coordinates."""
    alphas = [alpha for alpha in wanted if alpha is not None]
    return scheme_of(alphas, kind) if alphas else None


def resolved_plan(operators: Operators, args: tuple[Any, ...], kind: PlanKind) -> ResolvedPlan:
    """The jets at a point. For a point given by its shape, arrays become shapes too."""
    point, parts = Point(args, plan=kind), [part for each in operators for part in each]
    count = functools.partial(fewest, parts, point)
    shapes = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in jax.tree.leaves(args))
    if shapes and not all(map(_is_constant, parts)):
        return ResolvedPlan(_traced(lambda point: _pushes(operators, point, "u"), point), count)
    return ResolvedPlan(_pushes(operators, point, "u"), count)


def _is_constant(part: Part) -> bool:
    return all(segment.constant for term in part.terms for segment in term.word)


def _traced(resolve: Callable[[Point], list[Push]], point: Point) -> list[Push]:
    """Jets by tracing alone: known arrays, and the shapes of all others."""
    known: list[Any] = []

    def jets(point: Point) -> Any:
        traced, rest = eqx.partition(resolve(point), lambda leaf: isinstance(leaf, Tracer))
        known.append(rest)
        return traced

    shapes = eqx.filter_eval_shape(jets, point)
    return eqx.combine(shapes, *known)


def _pushes(operators: Operators, point: Point, function: str) -> list[Push]:
    """What `apply_all` pushes through a function, and through what the terms apply to it first."""
    groups = rewritten(operators, point)
    return [each for requests in groups for each in _of_one(requests, point, function)]


def _of_one(requests: Sequence[Request], point: Point, function: str) -> list[Push]:
    """The pushes of terms whose heads act on the same function."""
    _, first, draw = requests[0]
    inside: list[Push] = []
    if len(first.word) > 1:
        part = inner_part(first, draw)
        inside = _pushes([[part]], point, function)
        function = f"{text(part.terms)} {function}"
    heads = [head_of(*request) for request in requests]
    found = zip(heads, head_jets(heads, point), strict=True)
    named = [(head.segment.text, jets) for head, own in found for jets in flattened([own])]
    factors = [factor for head in heads for factor in head.segment.factors]
    functions = [factor for factor in factors if isinstance(factor, InnerFunction)]
    leaves = [[parts for parts, _ in each.operator.leaves] for each in functions]
    others = [each for parts in leaves for each in _pushes(parts, point, function)]
    return [Push(function, named, inside), *others]

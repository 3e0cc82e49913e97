"""The jets of a product of sets of terms: all of them, or a random sample.

A product is written out as a sum of terms Π_j (v_j·∇)^{p_j} with known rational weights. Its plan
says from which jets they are read. Everything known beforehand (positions, integers) is computed by
NumPy, once, at trace time.
"""

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from ..algebra.algebra import Exponents
from ..jets.by_coordinates import DerivativeSum, polynomial_of
from ..jets.directions import Directions, basis_directions, combine, interleave
from ..jets.point import Point
from ..jets.terms import Factors, Terms
from ..jets.weighted_jets import (
    WeightedJets,
    added_up,
    balanced,
    outer,
    power_of,
    product_of_weights,
)
from ..probes.base import AbstractProbe, Draw
from ..schemes.expansion import Alpha, Direction
from ..schemes.names import NAMED, scheme_of
from ..schemes.scheme import Jet, Readout, Scheme
from .sharing import COORDINATE


def order_of(factors: Factors) -> int:
    return sum(terms.order * power for terms, power in factors)


def exact_jets(factors: Factors, point: Point) -> list[WeightedJets]:
    """All the jets of a product of factors."""
    sets = [(factor, power) for factor, power in factors if isinstance(factor, Terms)]
    if len(sets) > 1 or sets[0][1] > 1:
        jets = reduce(outer, (power_of(factor.take(point, None), power) for factor, power in sets))
    else:
        ((factor, _),) = sets
        jets = factor.whole(point) if point.plan == "auto" else factor.take(point, None)
    if jets.output == (1,) and not jets.contracted:
        alone = jets.size == 1 and isinstance(jets.weights, np.ndarray)
        return [jets if alone else added_up([(1, jets)], point)]
    if len(jets.tangents) > 1 and (polynomial := as_polynomial(factors, point)) is not None:
        return _read_together(polynomial, point)
    return planned_jets(jets, point)


def as_polynomial(factors: Factors, point: Point) -> DerivativeSum | None:
    """A product of factors as coordinate derivatives, if it is pushed in this form. Second
    derivatives are pushed otherwise.
    """
    several = point.plan == "auto" and order_of(factors) > 2
    return polynomial_of(factors, point) if several else None


def _read_together(polynomial: DerivativeSum, point: Point) -> list[WeightedJets]:
    addend, planned = (object(), 1), coordinate_jets(tuple(polynomial), point)
    return [
        dataclasses.replace(each, weights=each.weights * float(number), addend=addend)  # pyright: ignore
        for alpha, number in polynomial.items()
        for each in planned[alpha]
    ]


def sampled_jets(factors: Factors, draw: Draw, point: Point) -> list[WeightedJets]:
    """n draws, or all jets if there are at most n terms or the order is one.

    First-order parts need no draws, since all their directions add up to a single jet.
    """
    if not is_sampled(factors, point, draw.probe, draw.n):
        return exact_jets(factors, point)
    return planned_jets(draw.probe.jets(factors, point, draw), point)


def is_sampled(factors: Factors, point: Point, probe: AbstractProbe, n: int) -> bool:
    """Whether a product of factors is sampled by n draws at a point."""
    single = all(terms.count(point) == 1 for terms, _ in factors)
    return not (single or is_linear(factors) or probe.is_exhaustive(factors, point, n))


def has_probe(factors: Factors, probe: AbstractProbe) -> bool:
    """Whether the expectation of an estimate with these probes is this product of factors; true if
    nothing is sampled.
    """
    if all(terms.single for terms, _ in factors) or not is_drawn(factors):
        return True
    return is_linear(factors) or probe.supports(factors)


def is_drawn(factors: Factors) -> bool:
    """Whether the factors are sets of terms that can be drawn: all are, except gradients and
    arrangements of derivatives.
    """
    return all(isinstance(terms, Terms) for terms, _ in factors)


def is_linear(factors: Factors) -> bool:
    """Whether all directions add up to one direction."""
    return order_of(factors) <= 1 and not any(terms.rank < 0 for terms, _ in factors)


def planned_jets(jets: WeightedJets, point: Point) -> list[WeightedJets]:
    """The terms Π_j (v_rj·∇)^{p_j} by the plan of their pattern p, in which the number of a slot
    stands for its direction. They have a parameter for each direction already, as the plan "nested"
    has.
    """
    if len(jets.tangents) == 1 or point.plan in ("auto", "nested"):
        return [jets]
    if isinstance(point.plan, Scheme):
        raise ValueError(
            "a plan written by hand reads single derivatives of coordinates; for a sum of terms "
            f"choose one of {', '.join(NAMED)}."
        )
    alpha: Alpha = tuple(enumerate(jets.output))
    scheme = scheme_of((alpha,), point.plan)
    design = jets.design
    if any(len(along) > 1 for jet in scheme.jets for _, along in jet.tangents):
        jets = balanced(jets)
    slots = dict(enumerate(zip(jets.signature, jets.slots, strict=True)))
    read = read_scheme(scheme, slots, jets.weights, point)[alpha]
    return [dataclasses.replace(each, design=design) for each in read]  # pyright: ignore


def coordinate_jets(wanted: Sequence[Alpha], point: Point) -> dict[Alpha, list[WeightedJets]]:
    """Coordinate derivatives, planned together. A variable is (argnum, coordinate)."""
    scheme = scheme_of(wanted, point.plan)
    variables: set[Any] = {v for jet in scheme.jets for _, along in jet.tangents for v, _ in along}
    slots = {v: ((COORDINATE, *v), basis_directions(v[0], np.array([v[1]]))) for v in variables}
    return read_scheme(scheme, slots, np.ones(1), point)


Slots: TypeAlias = Mapping[Any, tuple[Hashable, Directions]]
"""For each variable its directions, after their name, which may be None."""


def read_scheme(
    scheme: Scheme, slots: Slots, weights: Any, point: Point
) -> dict[Alpha, list[WeightedJets]]:
    """The weighted jets for each derivative of a scheme whose variables are directions, all summed
    with the same weights. Jets of one shape are stacked, term by term.
    """
    result: dict[Alpha, list[WeightedJets]] = {alpha: [] for alpha in scheme.readouts}
    for (tangents, _), jets in scheme.shapes.items():
        along = {k: [dict(jet.tangents)[k] for jet in jets] for k in sorted(tangents, reverse=True)}
        directions = {
            exponents: interleave([_direction(each, slots, point) for each in column], point)
            for exponents, column in along.items()
        }
        signature = tuple(_name(column, slots) for column in along.values())
        places = {jet: place for place, jet in enumerate(jets)}
        for alpha, readout in scheme.readouts.items():
            for output, row in _rows(readout, places).items():
                products = product_of_weights(weights[:, None], row[None, :]).reshape(-1)
                result[alpha].append(WeightedJets(directions, products, output, signature))
    return result


def _rows(readout: Readout, places: Mapping[Jet, int]) -> dict[Exponents, np.ndarray]:
    """For each output that is read, its coefficient for each jet."""
    rows: dict[Exponents, np.ndarray] = {}
    for coefficient, jet, output in readout.terms:
        if jet in places:
            row = rows.setdefault(output, np.zeros(len(places)))
            row[places[jet]] += float(coefficient)
    return rows


def _direction(along: Direction, slots: Slots, point: Point) -> Directions:
    if len(along) == 1 and along[0][1] == 1:
        return slots[along[0][0]][1]
    return combine([a for _, a in along], [slots[v][1] for v, _ in along], point)


def _name(column: Sequence[Direction], slots: Slots) -> Hashable:
    """A name for the directions of stacked jets, if their slots have names."""
    names = tuple(tuple((slots[variable][0], a) for variable, a in along) for along in column)
    if any(name is None for along in names for name, _ in along):
        return None
    ((name, a), *rest), *others = names
    return name if a == 1 and not rest and not others else names

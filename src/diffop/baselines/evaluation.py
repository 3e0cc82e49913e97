"""The values of operators from the derivatives of u at a point, as a baseline computes them."""

from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from typing import NamedTuple, final

import jax.numpy as jnp
from jaxtyping import PyTree

from ..array_types import ScalarArray, Vector
from ..jets.point import Point
from ..jets.terms import Factors
from ..jets.vector_terms import GradientTerms
from ..terms.evaluate import scaled
from ..terms.products import exact_jets
from ..terms.term import Part, Segment


@final
class Local(NamedTuple):
    """The derivatives of u at a point by a baseline, each by a call.

    - `value`: u.
    - `slope`: from a vector b to $b·∇u$.
    - `gradient`: from a factor with a gradient, such as $σᵀ∇$, to its value for u.
    - `second`: from a product of factors of order two, such as $Δ$, to its value for u.
    """

    value: Callable[[], ScalarArray]
    slope: Callable[[Vector], ScalarArray]
    gradient: Callable[..., Vector]
    second: Callable[[Factors], ScalarArray]


def values(operators: Sequence[Sequence[Part]], local: Local, point: Point) -> list[PyTree]:
    """Each operator as the sum of its terms; a derivative that occurs in several is
    computed once.
    """
    known: dict[Hashable, PyTree] = {}

    def derivative(segment: Segment) -> PyTree:
        key = frozenset((factor.key, power) for factor, power in segment.product)
        if key not in known:
            known[key] = _derivative(segment, local, point)
        return known[key]

    def value(parts: Sequence[Part]) -> PyTree:
        terms = [term for part in parts for term in part.terms]
        found = [scaled(derivative(term.head), term, point) for term in terms]
        return reduce(jnp.add, found) if found else jnp.zeros_like(local.value())

    return [value(parts) for parts in operators]


def _derivative(segment: Segment, local: Local, point: Point) -> PyTree:
    """The value of a segment, without its coefficient functions, for u."""
    if segment.order == 0:
        return local.value()
    if isinstance(segment.factors[0], GradientTerms):
        segment.factors[0].count(point)
        return local.gradient(segment.factors[0])
    if segment.order == 2:
        return local.second(segment.product)
    (jets,) = exact_jets(segment.product, point)  # directions of order one add up to one
    (x,) = point.args
    weight = jnp.asarray(jets.weights[0]).astype(x.dtype)
    return local.slope(weight * jets.directions[0].dense(x.size, x.dtype)[0])

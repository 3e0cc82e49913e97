"""The standard error of an estimate, from its draws."""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..jets.design import Design, deviations
from ..jets.point import Point
from ..jets.pushes import number_pushed
from ..probes.base import Draw
from ..terms.evaluate import (
    Head,
    apply_all,
    common_kind,
    flattened,
    floating,
    head_jets,
    head_values,
    inner_function,
    scaled,
    sum_of_two,
)
from ..terms.nonlocal_draws import design_of, evaluations_of
from ..terms.products import is_drawn, is_sampled
from ..terms.rewriting import composed, product_rule
from ..terms.term import Part, by_inner_function
from .norms import norm_over_first


@final
class Stats(NamedTuple):
    """An estimate with its error: what `stats` of every estimator returns.

    - `value`: the estimate.
    - `standard_error`: in the same structure; zero if the value is exact.
    - `jets`: how many were pushed.
    """

    value: PyTree
    standard_error: PyTree
    jets: int


DesignOf: TypeAlias = tuple[int, Design]
"""The number of a draw within an evaluation, and how it was made. Draws of one source are the same
draws; draws of different sources are independent.

Draws with traced keys can be compared only when the program runs. If several turn out to be the
same, the first source receives the contributions of all of them and the others zero, so variances
of sources add in any case.
"""


@final
class Draws(NamedTuple):
    """Several operators at a point, draw by draw.

    - `exact`: for each operator the sum of its exact terms.
    - `sampled`: for each source and each operator the contributions z_r of the draws, along the
        first axis; the estimate is `exact` plus the sums of all contributions. None for an operator
        that does not use the source.
    - `jets`: how many were pushed.
    """

    exact: list[PyTree]
    sampled: dict[DesignOf, list[PyTree | None]]
    jets: int

    def mean(self, operator: int) -> PyTree:
        """The estimate of one operator."""
        total = self.exact[operator]
        for contributions in self.sampled.values():
            if contributions[operator] is not None:
                sums = jax.tree.map(lambda z: jnp.sum(z, axis=0), contributions[operator])
                total = jax.tree.map(sum_of_two, total, sums)
        return total

    def deviations(self, operator: int) -> list[PyTree]:
        """The deviations of `mean`, source by source."""
        return [
            jax.tree.map(partial(deviations, design=design), contributions[operator])
            for (_, design), contributions in self.sampled.items()
            if contributions[operator] is not None
        ]


def variance_of(value: PyTree, deviations: Sequence[PyTree]) -> PyTree:
    """An unbiased estimate of the variance of a value, from the deviations of each of its sources:
    their squares add. It is real, and zero without sources.
    """

    def of(leaf: Array, *sources: Array) -> Array:
        squares = [jnp.sum(_square(each), axis=0) for each in sources]
        return reduce(sum_of_two, squares, jnp.zeros_like(leaf, real_kind(leaf.dtype)))

    return jax.tree.map(of, value, *deviations)


def standard_error_of(value: PyTree, deviations: Sequence[PyTree]) -> PyTree:
    """The root of `variance_of`, also where squares are out of range."""

    def of(leaf: Array, *sources: Array) -> Array:
        none = jnp.zeros_like(leaf, real_kind(leaf.dtype))
        errors = list(map(norm_over_first, sources)) or [none]
        kind = common_kind(none, *errors)
        return norm_over_first(jnp.stack([error.astype(kind) for error in errors]))

    return jax.tree.map(of, value, *deviations)


def _square(z: Array) -> Array:
    """|z|², with a gradient at zero."""
    return jnp.real(z * jnp.conj(z))


def draws(operators: Sequence[Sequence[Part]], u: Callable[..., PyTree], point: Point) -> Draws:
    """Several operators, each a list of parts, applied to one function at one point.

    **Raises:** `ValueError` for compositions whose inner operator is sampled too.
    """
    operators = [[_checked(part, point) for part in parts] for parts in operators]
    own = [[part for part in parts if part.draw is None] for parts in operators]
    exact: list[PyTree | None] = [
        value if parts else None for value, parts in zip(apply_all(own, u, point), own, strict=True)
    ]
    flat = [
        (position, composed(term, point, powers=False), part.draw)
        for position, parts in enumerate(operators)
        for part in parts
        if part.draw is not None
        for term in part.terms
    ]
    different = {draw.identity: draw for _, _, draw in flat}
    numbers = {identity: number for number, identity in enumerate(different)}
    sampled: dict[DesignOf, list[PyTree | None]] = {}
    terms = [
        composed(term, point, powers=False)
        for parts in own
        for part in parts
        for term in part.terms
    ]
    exact_heads = [Head(term.head, None) for term in terms]
    pushed = number_pushed(flattened(head_jets(exact_heads, point)))
    for requests in by_inner_function(flat):
        heads = [Head(term.head, draw) for _, term, draw in requests]
        function = inner_function(requests, u, point)
        found = head_values(heads, function, point, per_draw=True)
        pushed += number_pushed([each for _, jets in found for each in jets])
        for (position, term, draw), (value, each) in zip(requests, found, strict=True):
            value = scaled(value, term, point)
            design = each[0].design if each else design_of(term.head, draw)
            pushed += evaluations_of(term.head, draw)
            if design is None:
                exact[position] = added_statistics(exact[position], value)
                continue
            assert draw is not None  # only drawn terms have a design
            source = sampled.setdefault((numbers[draw.identity], design), [None] * len(operators))
            source[position] = added_statistics(source[position], value)
    known = [
        _nothing([values[position] for values in sampled.values()], u, point)
        if value is None
        else value
        for position, value in enumerate(exact)
    ]
    return Draws(known, _told_apart(sampled, list(different.values())), pushed)


def _told_apart(
    sampled: dict[DesignOf, list[PyTree | None]], made: Sequence[Draw]
) -> dict[DesignOf, list[PyTree | None]]:
    """The same contributions, with those of equal draws added up in the first of them."""
    result: dict[DesignOf, list[PyTree | None]] = {}
    for source, contributions in sampled.items():
        left = contributions  # what none of the earlier draws takes
        for (number, design), known in result.items():
            equal = made[number].equals(made[source[0]]) if design == source[1] else False
            if equal is not False:
                taken = jax.tree.map(partial(_where, equal), left)
                left = jax.tree.map(partial(_where, ~jnp.asarray(equal)), left)
                result[number, design] = [
                    added_statistics(a, b) if b is not None else a
                    for a, b in zip(known, taken, strict=True)
                ]
        result[source] = left
    return result


def _where(condition: Any, z: Array) -> Array:
    return jnp.where(condition, z, jnp.zeros_like(z))


def statistics(parts: Sequence[Part], u: Callable[..., PyTree], point: Point) -> Stats:
    """Mean and standard error of a sum of parts at a point."""
    found = draws([parts], u, point)
    mean = found.mean(0)
    return Stats(mean, standard_error_of(mean, found.deviations(0)), found.jets)


def real_kind(dtype: Any) -> Any:
    """The type of a variance: real, with the precision of the values."""
    return jnp.finfo(dtype).dtype


def added_statistics(known: PyTree | None, value: PyTree) -> PyTree:
    return value if known is None else jax.tree.map(sum_of_two, known, value)


def _nothing(
    contributions: Sequence[PyTree | None], u: Callable[..., PyTree], point: Point
) -> PyTree:
    """Zeros with the shape of the operator's value, for an operator without an exact part."""
    drawn = [jax.tree.map(lambda z: z[0], each) for each in contributions if each is not None]
    return jax.tree.map(jnp.zeros_like, drawn[0] if drawn else point.value_of(floating(u)))


def _checked(part: Part, point: Point) -> Part:
    """The terms at the point. Only the operator that is applied last may be sampled: its draws are
    linear in an inner function that is exact, such as a gradient.
    """
    terms = tuple(each for term in part.terms for each in product_rule(term, point))
    for segment in (segment for term in terms for segment in term.word[1:]):
        if part.draw is None or not (segment.all_drawn or is_drawn(segment.product)):
            continue
        if segment.all_drawn or is_sampled(segment.product, point, part.draw.probe, part.draw.n):
            raise ValueError(
                "a composition whose inner operator is sampled too has no standard error from "
                "one estimate: one with variable coefficients, an integral inside, or a gradient "
                "outside. Estimate it with several keys instead."
            )
    return Part(terms, part.draw)

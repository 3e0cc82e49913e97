"""The standard error of an estimate, from the draws it was made of."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..jets.design import Design, variance as design_variance
from ..jets.families import together
from ..jets.point import Point
from ..jets.weighted_jets import WeightedJets
from .evaluate import Draw, Part, apply_all, scaled, segment_jets, segment_values
from .term import Segment, Term


class Stats(NamedTuple):
    """What `Estimate.stats` returns: the estimate, its standard error (zero where it is exact), and
    the jets pushed.
    """

    mean: PyTree
    standard_error: PyTree
    jets: int


Source: TypeAlias = tuple[int, Design]
"""The number of a draw among those of an evaluation, and how it was made. Draws of one source are
the same draws, those of different sources are independent.
"""


@final
class Draws(NamedTuple):
    """Several operators at a point, draw by draw.

    - `exact`: for each operator the sum of what was not sampled.
    - `sampled`: for each source and each operator the contributions z_r of the draws, along the
        first axis; the estimate is `exact` plus the sums of all of them. None for an operator that
        has no part in them.
    - `jets`: how many were pushed.
    """

    exact: list[PyTree]
    sampled: dict[Source, list[PyTree | None]]
    jets: int

    def mean(self, operator: int) -> PyTree:
        """The estimate of one operator."""
        total = self.exact[operator]
        for contributions in self.sampled.values():
            if contributions[operator] is not None:
                sums = jax.tree.map(lambda z: jnp.sum(z, axis=0), contributions[operator])
                total = jax.tree.map(jnp.add, total, sums)
        return total

    def variance(self, operator: int) -> PyTree:
        """An unbiased estimate of the variance of `mean`: variances of different sources add."""
        total = jax.tree.map(
            lambda leaf: jnp.zeros_like(leaf, dtype=jnp.finfo(leaf.dtype).dtype),
            self.exact[operator],
        )
        for (_, design), contributions in self.sampled.items():
            if contributions[operator] is not None:
                spread = partial(design_variance, design=design)
                total = jax.tree.map(jnp.add, total, jax.tree.map(spread, contributions[operator]))
        return total


def draws(operators: Sequence[Sequence[Part]], u: Callable[..., PyTree], point: Point) -> Draws:
    """Several operators, each a list of parts, applied to one function at one point.

    **Raises:** `ValueError` for compositions whose inner operator is sampled too.
    """
    exact = apply_all(
        [[part for part in parts if part.draw is None] for parts in operators], u, point
    )
    flat = [
        (position, term, part.draw)
        for position, parts in enumerate(operators)
        for part in parts
        if part.draw is not None
        for term in part.terms
    ]
    requests: list[tuple[Segment, Draw | None]] = [(_head(term), draw) for _, term, draw in flat]
    jets = segment_jets(requests, point)
    values = segment_values(requests, u, point, per_draw=True)
    numbers = {id(draw): number for number, (_, _, draw) in enumerate(reversed(flat))}
    sampled: dict[Source, list[PyTree | None]] = {}
    for (position, term, draw), (head, _), each, value in zip(
        flat, requests, jets, values, strict=True
    ):
        value = scaled(value, term, head, point)
        design = each[0].design if each else None
        if design is None:
            exact[position] = jax.tree.map(jnp.add, exact[position], value)
            continue
        source = sampled.setdefault((numbers[id(draw)], design), [None] * len(operators))
        known = source[position]
        source[position] = value if known is None else jax.tree.map(jnp.add, known, value)
    every = [request for parts in operators for request in _exact_requests(parts)]
    return Draws(exact, sampled, _pushed([*jets, *segment_jets(every, point)]))


def statistics(parts: Sequence[Part], u: Callable[..., PyTree], point: Point) -> Stats:
    """Mean and standard error of a sum of parts at a point."""
    found = draws([parts], u, point)
    return Stats(found.mean(0), jax.tree.map(jnp.sqrt, found.variance(0)), found.jets)


def _head(term: Term) -> Segment:
    if len(term.word) > 1:
        raise ValueError(
            "a composition with variable coefficients has no standard error from one estimate: its "
            "inner operator is sampled too. Estimate it with several keys instead."
        )
    return term.word[0] if term.word else Segment((), (), ())


def _exact_requests(parts: Sequence[Part]) -> list[tuple[Segment, Draw | None]]:
    """What is pushed for the parts that are not sampled, first segments of their words only."""
    return [
        (term.word[0], None)
        for part in parts
        if part.draw is None
        for term in part.terms
        if term.word
    ]


def _pushed(jets: Sequence[Sequence[WeightedJets] | None]) -> int:
    """Jets with equal directions are pushed once."""
    return sum(group.size for group in together([j for each in jets if each for j in each]))

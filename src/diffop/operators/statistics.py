"""The standard error of an estimate, from the draws it was made of."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..jets.families import together
from ..jets.point import Point
from ..jets.weighted_jets import WeightedJets
from .evaluate import Draw, Part, apply, scaled, segment_jets, segment_values
from .term import Segment


class Stats(NamedTuple):
    """What `Estimate.stats` returns: the estimate, its standard error (zero where it is exact), and
    the jets pushed.
    """

    mean: PyTree
    standard_error: PyTree
    jets: int


def statistics(parts: Sequence[Part], u: Callable[..., PyTree], point: Point) -> Stats:
    """Mean and standard error of a sum of parts at a point.

    Draws of one design (without replacement from N terms; independent) are made from one key, so
    their contributions are added up draw by draw before their spread is taken. Draws of different
    designs are independent: variances add.
    """
    mean = apply(parts, u, point)
    variance = jax.tree.map(
        lambda leaf: jnp.zeros_like(leaf, dtype=jnp.finfo(leaf.dtype).dtype), mean
    )
    total = 0
    for part in parts:
        groups, jets = _contributions(part, u, point)
        total += jets
        for design, value in groups.items():
            variance = jax.tree.map(jnp.add, variance, _variance(value, design))
    return Stats(mean, jax.tree.map(jnp.sqrt, variance), total)


def _contributions(
    part: Part, u: Callable[..., PyTree], point: Point
) -> tuple[dict[Hashable, PyTree], int]:
    """For each design the contributions of its draws, and the number of jets of all terms."""
    requests: list[tuple[Segment, Draw | None]] = []
    for term in part.terms:
        if len(term.word) > 1 and part.draw is not None:
            raise ValueError(
                "a composition with variable coefficients has no standard error from one "
                "estimate: its inner operator is sampled too. Estimate it with several keys "
                "instead."
            )
        head = term.word[0] if term.word else Segment((), (), ())
        requests.append((head, part.draw))
    if part.draw is None:
        return {}, _pushed(segment_jets(requests, point))
    jets = segment_jets(requests, point)
    values = segment_values(requests, u, point, per_draw=True)
    groups: dict[Hashable, PyTree] = {}
    for (head, _), term, each, value in zip(requests, part.terms, jets, values, strict=True):
        if each is None or each[0].draws is None:
            continue
        value, design = scaled(value, term, head, point), each[0].design
        known = groups.get(design)
        groups[design] = value if known is None else jax.tree.map(jnp.add, known, value)
    return groups, _pushed(jets)


def _pushed(jets: Sequence[Sequence[WeightedJets] | None]) -> int:
    """Jets with equal directions are pushed once."""
    return sum(group.size for group in together([j for each in jets if each for j in each]))


def _variance(contributions: PyTree, design: Hashable) -> PyTree:
    """The variance of Σ_r z_r estimated from its terms: n Σ |z_r − z̄|² / (n−1), and (1 − n/N) of
    it for n of N terms.
    """

    def variance(leaf: Array) -> Array:
        n = leaf.shape[0]
        if n < 2:
            raise ValueError("a standard error needs at least 2 draws; got an estimate with n = 1.")
        spread = jnp.sum(jnp.abs(leaf - jnp.mean(leaf, axis=0, keepdims=True)) ** 2, axis=0)
        kept = 1 - n / design[1] if isinstance(design, tuple) and design[0] == "subset" else 1
        return spread * (n * kept / (n - 1))

    return jax.tree.map(variance, contributions)

"""From the factors of an operator to terms: all of them, or a random sample with the operator as
its expectation.

A product of factors is written out as terms w Π_j (v_j·∇)^{p_j}, a block, which is then planned
(`weighted_jets`). Everything that is known beforehand (positions, integers) is handled by numpy,
once, at trace time.
"""

import jax.numpy as jnp
import numpy as np

from .block_algebra import outer, power_of
from .directions import Dense, Sparse, count, to_dense
from .even_powers import even_powers
from .planner import Kind
from .point import Point
from .probes.base import AbstractProbe, Factors, Request
from .terms import Block, Terms
from .weighted_jets import WeightedJets, along_slot, planned_jets


def order_of(factors: Factors) -> int:
    return sum(terms.order * power for terms, power in factors)


def exact_jets(factors: Factors, point: Point, kind: Kind) -> list[WeightedJets]:
    """All the jets of a product of factors."""
    for terms, _ in factors:
        terms.count(point)
    if kind in ("auto", "power"):
        even = even_powers(factors, point)
        if even is not None:
            return [even]
    blocks = [power_of(terms.take(point, None), power) for terms, power in _sets(factors)]
    block = blocks[0]
    for other in blocks[1:]:
        block = outer(block, other)
    contracted = _is_contracted(factors)
    if block.order == 1 and not contracted:
        return [_summed(block, point)]
    if len(block.slots) == 1:
        return [along_slot(block, contracted=contracted)]
    return planned_jets(block, point, kind, merging=True)


def sampled_jets(
    factors: Factors, probe: AbstractProbe, request: Request, kind: Kind
) -> list[WeightedJets]:
    """n draws, or all the jets where there are at most n terms or the order is one.

    First-order parts need no draws: all their directions add up to a single jet.
    """
    point, contracted = request.point, _is_contracted(factors)
    if not is_sampled(factors, point, probe, request.n):
        return exact_jets(factors, point, kind)
    block = probe.block(factors, request)
    assert block.design is not None  # it was drawn
    draws = sum(stratum.n for stratum in block.design.strata)
    if len(block.slots) == 1:
        return [along_slot(block, draws, contracted)]
    return planned_jets(block, point, kind, draws=draws)


def is_sampled(factors: Factors, point: Point, probe: AbstractProbe, n: int) -> bool:
    """Whether n draws are taken of a product of factors at a point."""
    single = all(terms.count(point) == 1 for terms, _ in factors)
    return not (single or is_linear(factors) or probe.is_exhaustive(factors, point, n))


def has_probe(factors: Factors, probe: AbstractProbe) -> bool:
    """Whether an estimate with these probes has this product of factors as its expectation: they do
    not matter where nothing is sampled.
    """
    if all(terms.single for terms, _ in factors) or any(terms.rank > 0 for terms, _ in factors):
        return True
    return is_linear(factors) or probe.supports(factors)


def is_linear(factors: Factors) -> bool:
    """Whether all directions add up to one."""
    return order_of(factors) <= 1 and not _is_contracted(factors)


def _sets(factors: Factors) -> list[tuple[Terms, int]]:
    """The factors as sets of terms: all but gradients are."""
    return [(factor, power) for factor, power in factors if isinstance(factor, Terms)]


def _is_contracted(factors: Factors) -> bool:
    return any(terms.rank < 0 for terms, _ in factors)


def _summed(block: Block, point: Point) -> WeightedJets:
    """First order is linear in the direction: all jets are one, along Σ_r w_r v_r."""
    (slot,) = block.slots
    if count(slot) == 1 and isinstance(block.weights, np.ndarray):
        return along_slot(block)
    directions: dict[int, Dense | Sparse] = {}
    for argnum, rows in slot.items():
        dtype = point.dtype(argnum)
        array = to_dense(rows, point.size(argnum, "an operator"), dtype)
        directions[argnum] = Dense((jnp.asarray(block.weights).astype(dtype) @ array)[None])
    return along_slot(Block(np.ones(1), (directions,), (1,)))

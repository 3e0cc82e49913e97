"""From the factors of an operator to terms: all of them, or a random sample with the operator as
its expectation.

A product of factors is written out as terms w Π_j (v_j·∇)^{p_j}, a block, which is then planned
(`weighted_jets`). Everything that is known beforehand (positions, integers) is handled by numpy,
once, at trace time.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, final

import jax
import jax.numpy as jnp
import numpy as np

from .._types import Key
from . import probes
from .directions import Dense, Sparse, count, take, to_dense
from .planner import Kind
from .point import Point
from .terms import Block, Factor, ProbedTerms, Terms, times
from .weighted_jets import WeightedJets, along_slot, planned_jets

Factors: TypeAlias = Sequence[tuple[Factor, int]]
"""Factors of a homogeneous operator with their powers."""


def order_of(factors: Factors) -> int:
    return sum(terms.order * power for terms, power in factors)


def number_of_terms(factors: Factors, point: Point) -> int:
    """The number of terms of a product of factors, equal ones counted as unordered."""
    return math.prod(math.comb(terms.count(point) + power - 1, power) for terms, power in factors)


def exact_jets(factors: Factors, point: Point, kind: Kind) -> list[WeightedJets]:
    """All the jets of a product of factors."""
    for terms, _ in factors:
        terms.count(point)
    blocks = [_power(terms.take(point, None), power) for terms, power in _sets(factors)]
    block = blocks[0]
    for other in blocks[1:]:
        block = _outer(block, other)
    contracted = _is_contracted(factors)
    if block.order == 1 and not contracted:
        return [_summed(block, point)]
    if len(block.slots) == 1:
        return [along_slot(block, contracted=contracted)]
    return planned_jets(block, point, kind, merging=True)


def sampled_jets(
    factors: Factors, point: Point, draw: "Sampling", kind: Kind
) -> list[WeightedJets]:
    """n draws, or all the jets where there are at most n terms or the order is one.

    First-order parts need no draws: all their directions add up to a single jet.
    """
    contracted = _is_contracted(factors)
    few = number_of_terms(factors, point) <= draw.n
    if few or (order_of(factors) == 1 and not contracted):
        return exact_jets(factors, point, kind)
    if draw.probes in probes.DENSE:
        block = _probed_block(factors, point, draw)
    else:
        block = _sampled_block(factors, point, draw)
    if len(block.slots) == 1:
        return [along_slot(block, draw.n, contracted)]
    return planned_jets(block, point, kind, draws=draw.n)


@final
class Sampling(NamedTuple):
    """How terms are drawn: `tag` tells the draws of one evaluation apart."""

    key: Key
    n: int
    probes: str
    tag: int


def has_probe(factors: Factors, kind: str) -> bool:
    """Whether dense directions of a kind have this product of factors as their expectation."""
    single = all(terms.single for terms, _ in factors)
    if kind not in probes.DENSE or single or any(terms.rank > 0 for terms, _ in factors):
        return True
    if order_of(factors) == 1 and not _is_contracted(factors):
        return True
    return kind in unbiased_probes(factors)


def unbiased_probes(factors: Factors) -> tuple[str, ...]:
    """The kinds of dense probes that estimate a product of factors without bias."""
    terms, power = factors[0]
    if len(factors) > 1 or not isinstance(terms, ProbedTerms):
        return ()
    return terms.probe_kinds(power)


def _sets(factors: Factors) -> list[tuple[Terms, int]]:
    """The factors as sets of terms: all but gradients are."""
    return [(factor, power) for factor, power in factors if isinstance(factor, Terms)]


def _is_contracted(factors: Factors) -> bool:
    return any(terms.rank < 0 for terms, _ in factors)


def _probed_block(factors: Factors, point: Point, draw: Sampling) -> Block:
    """Jets along n isotropic directions, their mean the product of factors."""
    ((terms, power),) = factors
    assert isinstance(terms, ProbedTerms)  # `has_probe` was asked when the estimate was made
    size, n, kind = terms.probe_space(point), draw.n, draw.probes
    key = jax.random.fold_in(draw.key, size)
    directions = probes.draw(kind, key, n, size, terms.probe_dtype(point))
    block = terms.probe(point, kind, directions)
    exponents = (terms.order * power,) if power > 1 else block.exponents
    weights = block.weights / (n * probes.moment(kind, power, size))
    signature = None if block.signature is None else (draw.tag, n, block.signature)
    return Block(weights, block.slots, exponents, signature, ("independent", kind, size))


def _sampled_block(factors: Factors, point: Point, draw: Sampling) -> Block:
    """n terms of a product of factors, weighted so that their sum is unbiased.

    One factor with many equally weighted terms is drawn without replacement. Otherwise every copy
    of every factor is drawn independently, which draws unordered tuples of terms with probability
    proportional to their weights: for Δ² each pair {i, j} twice as often as {i, i}.
    """
    sets, key, n = _sets(factors), draw.key, draw.n
    large = [(terms, power) for terms, power in sets if terms.count(point) > 1]
    small = [(terms, power) for terms, power in sets if terms.count(point) == 1]
    if len(large) == 1 and large[0][1] == 1 and large[0][0].magnitudes(point) is None:
        terms = large[0][0]
        drawn = [terms.subset(point, jax.random.fold_in(key, terms.count(point)), n, draw.tag)]
        design = drawn[0].design
    else:
        copies = [terms for terms, power in large for _ in range(power)]
        counts = [terms.count(point) for terms in copies]
        stream = jax.random.fold_in(key, 0)  # apart from the draws without replacement
        for number in (len(copies), *counts):  # and from other designs: their variances add
            stream = jax.random.fold_in(stream, number % 2**32)
        drawn = [
            terms.independent(point, jax.random.fold_in(stream, position), n)
            for position, terms in enumerate(copies)
        ]
        drawn[0] = Block(drawn[0].weights / n, drawn[0].slots, drawn[0].exponents)
        design = ("independent", *counts)
    constant = [_repeated(_power(terms.take(point, None), power), n) for terms, power in small]
    block = drawn[0]
    for other in (*drawn[1:], *constant):
        block = Block(
            times(block.weights, other.weights),
            block.slots + other.slots,
            block.exponents + other.exponents,
            block.signatures + other.signatures,
        )
    return Block(block.weights, block.slots, block.exponents, block.signature, design)


def _repeated(block: Block, n: int) -> Block:
    """A block of one term, n times."""
    zeros = np.zeros(n, dtype=np.int32)
    slots = tuple(take(slot, zeros) for slot in block.slots)
    return Block(block.weights[zeros], slots, block.exponents)


def _power(block: Block, power: int) -> Block:
    """The m-th power of a sum of terms: one term for each multiset of m of them, with its
    multinomial coefficient.
    """
    if power == 1:
        return block
    total = block.weights.shape[0]
    if power == 2:
        index = np.stack(np.triu_indices(total), axis=1)
        multiplicity = np.where(index[:, 0] == index[:, 1], 1.0, 2.0)
    else:
        index = np.array(list(itertools.combinations_with_replacement(range(total), power)))
        multiplicity = np.array([_multinomial(row) for row in index])
    weights: Any = multiplicity
    for column in range(power):
        weights = times(weights, block.weights[index[:, column]])
    slots = tuple(take(slot, index[:, column]) for column in range(power) for slot in block.slots)
    return Block(weights, slots, block.exponents * power)


def _multinomial(row: np.ndarray) -> float:
    repeats = Counter(row.tolist()).values()
    return math.factorial(len(row)) / math.prod(map(math.factorial, repeats))


def _outer(left: Block, right: Block) -> Block:
    """The product of two sums of terms."""
    rows, columns = left.weights.shape[0], right.weights.shape[0]
    first, second = np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)
    return Block(
        times(left.weights[first], right.weights[second]),
        tuple(take(slot, first) for slot in left.slots)
        + tuple(take(slot, second) for slot in right.slots),
        left.exponents + right.exponents,
    )


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

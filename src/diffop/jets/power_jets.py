"""From the factors of an operator to jets: all of them, or a random sample with the operator as its
expectation.

A product of factors is written out as terms w Π_j (v_j·∇)^{p_j}, polarised into powers of single
directions, and equal directions are merged. Everything that is known beforehand (positions,
integers) is handled by numpy, once, at trace time.
"""

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._types import Key, Weights
from . import probes
from .directions import Dense, Directions, Sparse, combine, count, interleave, take, to_dense
from .merging import integer_table, merge
from .point import Point
from .polarisation import polarisation
from .terms import Block, Factor, ProbedTerms, Terms

Factors: TypeAlias = Sequence[tuple[Factor, int]]
"""Factors of a homogeneous operator with their powers."""


@final
class PowerJets(eqx.Module):
    """Σ_r w_r (v_r·∇)^k: what is pushed through u.

    - `directions`: for each argument that moves, n structured directions (`Sparse` or `Dense`
        rows).
    - `weights`: `(n,)`.
    - `order`: k.
    - `draws`: how many draws the jets belong to (n is a multiple, the jets of a draw are adjacent),
        or None where the sum is exact.
    - `signature`: equal (and not None) for jets with equal directions; they are pushed once.
    - `design`: how the draws were made, for the standard error.
    - `contracted`: each jet's output is contracted with its direction (divergence).

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        (jets,) = do.DiagonalK(3).jets(jnp.ones(5))
        jets.order, jets.size, jets.directions[0].positions  # 3, 5, [[0], …, [4]]
        ```
    """

    directions: Directions
    weights: Weights
    order: int = eqx.field(static=True)
    signature: Hashable = eqx.field(static=True, default=None)
    draws: int | None = eqx.field(static=True, default=None)
    design: Hashable = eqx.field(static=True, default=None)
    contracted: bool = eqx.field(static=True, default=False)

    @property
    def size(self) -> int:
        """The number n of jets."""
        return count(self.directions)


def order_of(factors: Factors) -> int:
    return sum(terms.order * power for terms, power in factors)


def number_of_terms(factors: Factors, point: Point) -> int:
    """The number of terms of a product of factors, equal ones counted as unordered."""
    return math.prod(math.comb(terms.count(point) + power - 1, power) for terms, power in factors)


def exact_jets(factors: Factors, point: Point) -> PowerJets:
    """All the jets of a product of factors."""
    for terms, _ in factors:
        terms.count(point)
    blocks = [_power(terms.take(point, None), power) for terms, power in _sets(factors)]
    block = blocks[0]
    for other in blocks[1:]:
        block = _outer(block, other)
    jets = _polarise(block, order_of(factors), point, _is_contracted(factors))
    if jets.order == 1 and not jets.contracted:
        return _summed(jets, point)
    return jets if len(block.slots) == 1 else _merged(jets)


def sampled_jets(
    factors: Factors, point: Point, key: Key, n: int, kind: str, tag: int
) -> PowerJets:
    """n draws, or all the jets where there are at most n terms or the order is one.

    First-order parts need no draws: all their directions add up to a single jet.
    """
    contracted = _is_contracted(factors)
    if number_of_terms(factors, point) <= n or (order_of(factors) == 1 and not contracted):
        return exact_jets(factors, point)
    if kind in probes.DENSE:
        return _probed(factors, point, key, n, kind, tag)
    block = _sampled_block(factors, point, key, n, tag)
    jets = _polarise(block, order_of(factors), point, contracted)
    return _with_draws(jets, n, block.design)


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


def _with_draws(jets: PowerJets, n: int, design: Hashable) -> PowerJets:
    return PowerJets(
        jets.directions, jets.weights, jets.order, jets.signature, n, design, jets.contracted
    )


def _probed(factors: Factors, point: Point, key: Key, n: int, kind: str, tag: int) -> PowerJets:
    ((terms, power),) = factors
    assert isinstance(terms, ProbedTerms)  # `has_probe` was asked when the estimate was made
    size = terms.probe_space(point)
    key = jax.random.fold_in(key, size)
    directions = probes.draw(kind, key, n, size, terms.probe_dtype(point))
    block = terms.probe(point, kind, directions)
    if power > 1:
        block = Block(block.weights, block.slots, (terms.order * power,), block.signature)
    weights = block.weights / (n * probes.moment(kind, power, size))
    signature = None if block.signature is None else (tag, n, block.signature)
    block = Block(weights, block.slots, block.exponents, signature)
    jets = _polarise(block, order_of(factors), point, _is_contracted(factors))
    return _with_draws(jets, n, ("independent", kind, size))


def _sampled_block(factors: Factors, point: Point, key: Key, n: int, tag: int) -> Block:
    """n terms of a product of factors, weighted so that their sum is unbiased.

    One factor with many equally weighted terms is drawn without replacement. Otherwise every copy
    of every factor is drawn independently, which draws unordered tuples of terms with probability
    proportional to their weights: for Δ² each pair {i, j} twice as often as {i, i}.
    """
    sets = _sets(factors)
    large = [(terms, power) for terms, power in sets if terms.count(point) > 1]
    small = [(terms, power) for terms, power in sets if terms.count(point) == 1]
    if len(large) == 1 and large[0][1] == 1 and large[0][0].magnitudes(point) is None:
        terms = large[0][0]
        drawn = [terms.subset(point, jax.random.fold_in(key, terms.count(point)), n, tag)]
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
            _times(block.weights, other.weights),
            block.slots + other.slots,
            block.exponents + other.exponents,
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
        weights = _times(weights, block.weights[index[:, column]])
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
        _times(left.weights[first], right.weights[second]),
        tuple(take(slot, first) for slot in left.slots)
        + tuple(take(slot, second) for slot in right.slots),
        left.exponents + right.exponents,
    )


def _times(left: Any, right: Any) -> Any:
    """A product of weights; what numpy knows stays with numpy."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left * right
    arrays = [x for x in (left, right) if not isinstance(x, np.ndarray)]
    dtype = jnp.result_type(*arrays)
    return jnp.asarray(left).astype(dtype) * jnp.asarray(right).astype(dtype)


def _polarise(block: Block, order: int, point: Point, contracted: bool) -> PowerJets:
    """Terms Π_j (v_j·∇)^{p_j} as powers of single directions."""
    plan = polarisation(block.exponents)
    if len(block.slots) == 1:
        return PowerJets(
            block.slots[0], block.weights, order, block.signature, contracted=contracted
        )
    directions = interleave([combine(combination, block.slots, point) for combination, _ in plan])
    factors = np.array([float(weight) for _, weight in plan])
    weights = _times(block.weights[:, None], factors[None, :]).reshape(-1)
    return PowerJets(directions, weights, order)


def _summed(jets: PowerJets, point: Point) -> PowerJets:
    """First order is linear in the direction: all jets are one, along Σ_r w_r v_r."""
    if jets.size == 1 and isinstance(jets.weights, np.ndarray):
        return jets
    directions: dict[int, Dense | Sparse] = {}
    for argnum, rows in jets.directions.items():
        dtype = point.dtype(argnum)
        array = to_dense(rows, point.size(argnum, "an operator"), dtype)
        directions[argnum] = Dense((jnp.asarray(jets.weights).astype(dtype) @ array)[None])
    return PowerJets(directions, np.ones(1), 1)


def _merged(jets: PowerJets) -> PowerJets:
    """Equal directions as one, where all of them are known integers."""
    table = integer_table(jets.directions)
    if table is None:
        return jets
    directions, weights = merge(table, jets.weights, jets.order)
    return PowerJets(directions, weights, jets.order)

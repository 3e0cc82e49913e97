"""Probes that draw terms one by one, with or without replacement."""

from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from ..array_types import Key, Magnitudes, TermNumbers
from ..jets.design import Design, Stratum
from ..jets.point import Point
from ..jets.terms import Factors, Terms
from ..jets.weighted_jets import WeightedJets, drawn, product_of_weights, termwise_product
from ..streams import stream
from . import sampling
from .base import Draw
from .by_term import (
    AbstractTermProbe,
    Selection,
    equally_weighted_factor,
    split_by_size,
    with_constants,
    without_replacement,
)

Weighing: TypeAlias = Callable[[Terms, Point], Magnitudes | None]
"""The probabilities of terms, up to a factor; None if all are equal."""


def independent(
    factors: Factors, point: Point, draw: Draw, weighing: Weighing, shared: bool = False
) -> WeightedJets:
    """Terms drawn one by one, also for powers: every copy of every factor is drawn independently.
    So unordered tuples of terms are drawn with probability proportional to their weights; for Δ²
    each pair {i, j} comes twice as often as {i, i}.

    If probabilities are `shared`, all factors with the same number of terms have the same ones.
    Then they draw the same terms, and share jets.
    """
    n = draw.n
    large, small = split_by_size(factors, point)
    copies = [terms for terms, power in large for _ in range(power)]
    counts = [terms.count(point) for terms in copies]
    # independent of the draws without replacement and of other designs: their variances add
    key = stream(draw.key, "copies", *counts)
    each = [
        _one_by_one(terms, weighing(terms, point), point, stream(key, "copy", position), n)
        for position, terms in enumerate(copies)
    ]
    jets = reduce(termwise_product, each)
    jets = eqx.tree_at(lambda jets: jets.weights, jets, jets.weights / n)
    mark = (draw.identity, "terms") if shared and len(copies) == 1 else None
    design = Design(("independent", *counts), (Stratum(n),))
    return with_constants(drawn(jets, design, mark), small, point)


def _one_by_one(
    terms: Terms, magnitudes: Magnitudes | None, point: Point, key: Key, n: int
) -> WeightedJets:
    """n independent terms, each weighted with 1/p: their mean is unbiased (1/n is left out)."""
    total = terms.numbered(point)
    if magnitudes is None:
        index, inverse = sampling.uniform(key, total, n), np.full(n, float(total))
    else:
        index, inverse = sampling.weighted(key, magnitudes, n)
    jets = terms.take(point, index)
    if not isinstance(jets.weights, np.ndarray):
        inverse = inverse.astype(jets.weights.dtype)
    return eqx.tree_at(lambda jets: jets.weights, jets, product_of_weights(jets.weights, inverse))


def independent_variance(values: Array, n: int, magnitudes: Magnitudes) -> Array:
    """(1/n) (Σ_i t_i²/p_i − T²)."""
    squares = jnp.abs(values) ** 2
    magnitudes = magnitudes.astype(squares.dtype)
    p = jnp.reshape(magnitudes / jnp.sum(magnitudes), (-1,) + (1,) * (values.ndim - 1))
    ratios = jnp.where(p > 0, squares / jnp.where(p > 0, p, 1), 0)
    return (jnp.sum(ratios, axis=0) - jnp.abs(jnp.sum(values, axis=0)) ** 2) / n


class SparseProbe(AbstractTermProbe):
    """The base class of probes of any product of factors: `select` draws without replacement where
    a single factor has many terms, of equal weight; otherwise terms are drawn independently.
    """

    def supports(self, factors: Factors) -> bool:
        return True

    def jets(self, factors: Factors, point: Point, draw: Draw) -> WeightedJets:
        if equally_weighted_factor(factors, point) is None:
            return independent(factors, point, draw, lambda terms, point: terms.magnitudes(point))
        return super().jets(factors, point, draw)

    def select(self, key: Key, total: int, n: int) -> Selection:
        return Selection(self.numbers(key, total, n), np.full(n, total / n), (Stratum(n, total),))

    @abstractmethod
    def numbers(self, key: Key, total: int, n: int) -> TermNumbers:
        """n different terms."""


@final
class Sparse(SparseProbe):
    """Terms without replacement if all have the same coefficient, with probability $p ∝ |C|$ if
    coefficients differ, and independent tuples of terms for powers.

    For N equal terms the variance is $N²/n (1 − n/N) S²$, where $S²$ is the variance among the
    terms, such as the diagonal of the Hessian for $Δ$. Off-diagonal entries do not contribute.

    A term whose coefficient is exactly 0 is never drawn. So the gradient with respect to that
    coefficient is always 0 in an estimate. To learn coefficients that begin at 0, evaluate exactly,
    or draw dense directions.

    Source: STDE, equation `eqn:stde-sparse`, with $p ∝ |C|$ instead of C.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 16, probes=do.probes.Sparse())
        ```
    """

    name: ClassVar[str] = "sparse"

    def numbers(self, key: Key, total: int, n: int) -> TermNumbers:
        return sampling.subset(key, total, n)

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        if magnitudes is not None:
            return independent_variance(values, n, magnitudes)
        return without_replacement(values, (Stratum(n, values.shape[0]),))


@final
class Importance(AbstractTermProbe):
    """Independent terms with probabilities p proportional to given weights.

    The variance is $(1/n) (Σ_i t_i²/p_i − T²)$. It is least for $p_i ∝ |t_i|$: weights that follow
    the magnitudes of the terms, which [`diffop.probes.RunningMagnitudes`][] learns.

    **Arguments:**

    - `weights`: a positive number for each term, such as each coordinate for $Δ$, in their order
        (for an array C all its entries, row by row). No gradient flows into them.

    **Raises:** `ValueError` for weights that are negative or not finite, and, when an estimate is
    made or evaluated, for a zero weight of a term (it would never be drawn), or another number of
    weights than there are terms. Traced weights are checked when they are used, with
    `equinox.error_if`.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        a = jnp.array([1.0, 2.0, 4.0, 8.0])
        E = do.Laplacian().estimate(jax.random.key(0), 2, probes=do.probes.Importance(a))
        E(lambda x: a @ x**2)(jnp.zeros(4))  # 30.0: p ∝ t has no variance
        ```
    """

    _bits: Array
    """The bits of the weights. Floating-point leaves of an estimate would be learnt."""
    name: ClassVar[str] = "importance"

    def __init__(self, weights: Any) -> None:
        array = jnp.asarray(weights, dtype=jnp.result_type(float))
        bits = {4: jnp.uint32, 8: jnp.uint64}[array.dtype.itemsize]
        self._bits = jax.lax.bitcast_convert_type(array.reshape(-1), bits)
        if not isinstance(array, Tracer):
            known = np.asarray(array).reshape(-1)  # jax.jit would trace operations of JAX
            wrong = ~np.isfinite(known) | (known < 0)
            if wrong.any():
                text = "weights of Importance must be finite and not negative; got "
                raise ValueError(f"{text}{_offending(known, wrong)}.")

    @property
    def weights(self) -> Magnitudes:
        kind = {4: jnp.float32, 8: jnp.float64}[self._bits.dtype.itemsize]
        return jax.lax.bitcast_convert_type(self._bits, kind)

    def supports(self, factors: Factors) -> bool:
        return True

    def select(self, key: Key, total: int, n: int) -> Selection:
        numbers, inverse = sampling.weighted(key, self.weights, n)
        return Selection(numbers, inverse / n, (Stratum(n),))

    def _magnitudes(self, terms: Terms, point: Point) -> Magnitudes:
        weights, total = self.weights, terms.numbered(point)
        if weights.shape != (total,):
            raise ValueError(
                f"weights of Importance must be one for each of the {total} terms of "
                f"{terms.symbol} at this point; got {weights.size}."
            )
        own = terms.magnitudes(point)
        missed = weights <= 0 if own is None else (weights <= 0) & (own > 0)
        if isinstance(missed, Tracer):
            wrong = missed | ~jnp.isfinite(weights) | (weights < 0)
            return eqx.error_if(weights, wrong, _UNDRAWN.format(symbol=terms.symbol, got="some"))
        if bool(jnp.any(missed)):
            got = _offending(weights, missed)
            raise ValueError(_UNDRAWN.format(symbol=terms.symbol, got=got))
        return weights

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        return independent_variance(values, n, self.weights)

    def jets(self, factors: Factors, point: Point, draw: Draw) -> WeightedJets:
        return independent(factors, point, draw, self._magnitudes, shared=True)


_UNDRAWN = (
    "weights of Importance must be positive and finite wherever {symbol} has a term, or it would "
    "never be drawn and the estimate would be biased; got {got}. Add a small constant to them."
)


def _offending(weights: Any, wrong: Any) -> str:
    first = int(np.flatnonzero(np.asarray(wrong))[0])
    return f"{float(weights[first]):g} at number {first}"

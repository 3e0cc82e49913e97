"""Draws of terms.

A sum of N terms T = Σ_i t_i is estimated from some of them. If term i is in the draw with
probability π_i, Σ_{i drawn} t_i/π_i has the mean T (Horvitz and Thompson). Without replacement
π = n/N for all; in strata π = n_h/N_h; systematically π = n/N. Drawn n times independently with
probabilities p, (1/n) Σ_r t_{i_r}/p_{i_r} has the mean T wherever p_i > 0 for t_i ≠ 0.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from ..._types import Key, Magnitudes, TermNumbers, Weights
from .. import sampling
from ..block_algebra import along, power_of, repeated
from ..design import Design, Stratum
from ..point import Point
from ..terms import Block, Terms, times
from .base import AbstractProbe, Factors, Request, number_of_terms

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


@final
class Selection(NamedTuple):
    """Terms that were drawn: Σ_r w_r t_{i_r} is unbiased for the sum of all.

    - `numbers`: i, shape `(n,)`.
    - `weights`: w, shape `(n,)`.
    - `strata`: how the draws depend on each other.
    - `unknown`: why there is no standard error, or None.
    """

    numbers: TermNumbers
    weights: Weights
    strata: tuple[Stratum, ...]
    unknown: str | None = None


class AbstractTermProbe(AbstractProbe):
    """Some of the terms of a sum, by number. A subclass says which: `select`.

    Of a product of factors one may have many terms; for powers such as Δ², whose terms are tuples,
    there are [`diffop.probes.Sparse`][] and [`diffop.probes.Importance`][].
    """

    @abstractmethod
    def select(self, key: Key, total: int, n: int) -> Selection:
        """Draws among the terms 0 … total − 1."""

    def variance_of_terms(
        self, values: Array, n: int, magnitudes: Magnitudes | None
    ) -> Array | None:
        """The variance of n draws from the values of all terms, along the first axis; None where no
        formula is known. `magnitudes` are those of the terms' coefficients, None where all are
        alike.
        """
        return None

    def supports(self, factors: Factors) -> bool:
        large = [power for terms, power in factors if not terms.single]
        return large == [1]

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        return number_of_terms(factors, point) <= n

    def block(self, factors: Factors, request: Request) -> Block:
        large, small = split_by_size(factors, request.point)
        ((terms, _),) = large
        return with_constants(self.drawn(terms, request), small, request)

    def drawn(self, terms: Terms, request: Request) -> Block:
        """The drawn terms of one factor."""
        total = terms.numbered(request.point)
        key = jax.random.fold_in(request.key, total)
        selection = self.select(key, total, request.n)
        block = terms.take(request.point, selection.numbers)
        design = Design((self.name, total), selection.strata, selection.unknown)
        signature = None
        if block.signature is not None:
            signature = ("terms", request.tag, request.n, block.signature)
        weights = times(block.weights, selection.weights)
        return Block(weights, block.slots, block.exponents, signature, design)


class _Independent(AbstractTermProbe):
    """Terms drawn one by one, also for powers: every copy of every factor is drawn independently,
    which draws unordered tuples of terms with probability proportional to their weights. For Δ²
    each pair {i, j} comes twice as often as {i, i}.
    """

    same_for_all: AbstractClassVar[bool]
    """Whether all factors with as many terms have the same probabilities, so that they draw the
    same terms and can share jets.
    """

    @abstractmethod
    def magnitudes(self, terms: Terms, point: Point) -> Magnitudes | None:
        """Probabilities up to a factor; None for all alike."""

    def select(self, key: Key, total: int, n: int) -> Selection:
        return Selection(sampling.uniform(key, total, n), np.full(n, total / n), (Stratum(n),))

    def supports(self, factors: Factors) -> bool:
        return True

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        if magnitudes is None:
            magnitudes = jnp.ones(values.shape[0])
        squares = jnp.abs(values) ** 2
        magnitudes = magnitudes.astype(squares.dtype)
        p = jnp.reshape(magnitudes / jnp.sum(magnitudes), (-1,) + (1,) * (values.ndim - 1))
        ratios = jnp.where(p > 0, squares / jnp.where(p > 0, p, 1), 0)
        return (jnp.sum(ratios, axis=0) - jnp.abs(jnp.sum(values, axis=0)) ** 2) / n

    def copies(self, factors: Factors, request: Request) -> Block:
        point, n = request.point, request.n
        large, small = split_by_size(factors, point)
        copies = [terms for terms, power in large for _ in range(power)]
        counts = [terms.count(point) for terms in copies]
        stream = jax.random.fold_in(request.key, 0)  # apart from the draws without replacement
        for number in (len(copies), *counts):  # and from other designs: their variances add
            stream = jax.random.fold_in(stream, number % 2**32)
        drawn = [
            self._one_by_one(terms, point, jax.random.fold_in(stream, position), n)
            for position, terms in enumerate(copies)
        ]
        block = drawn[0]
        for other in drawn[1:]:
            block = along(block, other)
        signature = ("terms", request.tag, n, block.signature)
        named = self.same_for_all and len(copies) == 1 and block.signature is not None
        block = Block(
            block.weights / n,
            block.slots,
            block.exponents,
            signature if named else None,
            Design(("independent", *counts), (Stratum(n),)),
        )
        return with_constants(block, small, request)

    def _one_by_one(self, terms: Terms, point: Point, key: Key, n: int) -> Block:
        """n independent terms, each weighted with 1/p: their mean is unbiased (1/n is left out)."""
        magnitudes, total = self.magnitudes(terms, point), terms.numbered(point)
        if magnitudes is None:
            index, inverse = sampling.uniform(key, total, n), np.full(n, float(total))
        else:
            index, inverse = sampling.weighted(key, magnitudes, n)
        block = terms.take(point, index)
        if not isinstance(block.weights, np.ndarray):
            inverse = inverse.astype(block.weights.dtype)
        weights = times(block.weights, inverse)
        return Block(weights, block.slots, block.exponents, block.signature)


@final
class Sparse(_Independent):
    """Terms without replacement where all are alike, with probability p ∝ |C| where they have
    coefficients, and independent tuples of terms for powers.

    For N equal terms the variance is N²/n (1 − n/N) S², S² the variance among the terms, such as
    the diagonal of the Hessian for Δ: off-diagonal entries have no part in it.

    Source: STDE, equation `eqn:stde-sparse`, with p ∝ |C| instead of C.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 16, probes=do.probes.Sparse())
        ```
    """

    name: ClassVar[str] = "sparse"
    same_for_all: ClassVar[bool] = False

    def magnitudes(self, terms: Terms, point: Point) -> Magnitudes | None:
        return terms.magnitudes(point)

    def select(self, key: Key, total: int, n: int) -> Selection:
        numbers = sampling.subset(key, total, n)
        return Selection(numbers, np.full(n, total / n), (Stratum(n, total),))

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        if magnitudes is not None:
            return super().variance_of_terms(values, n, magnitudes)
        return _without_replacement(values, (Stratum(n, values.shape[0]),))

    def block(self, factors: Factors, request: Request) -> Block:
        if alike(factors, request.point) is None:
            return self.copies(factors, request)
        return super().block(factors, request)


@final
class Importance(_Independent):
    """Independent terms with probabilities p proportional to given weights.

    The variance is (1/n) (Σ_i t_i²/p_i − T²), least for p_i ∝ |t_i|: weights that follow the
    magnitudes of the terms, which [`diffop.probes.RunningMagnitudes`][] learns.

    **Arguments:**

    - `weights`: a positive number for each term, such as each coordinate for Δ, in their order (for
        an array C all its entries, row by row). No gradient flows into them.

    **Raises:** `ValueError` for weights that are negative or not finite, and, when an estimate is
    made or evaluated, for weights that are zero where there is a term (it would never be drawn), or
    that are not as many as there are terms. Weights that are traced are checked when they are used,
    with `equinox.error_if`.

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

    weights: Magnitudes
    name: ClassVar[str] = "importance"
    same_for_all: ClassVar[bool] = True

    def __init__(self, weights: Any) -> None:
        array = jnp.asarray(weights, dtype=jnp.result_type(float))
        self.weights = array.reshape(-1)
        if not isinstance(array, Tracer):
            if not bool(jnp.all(jnp.isfinite(array) & (array >= 0))):
                raise ValueError(
                    "weights of Importance must be finite and not negative; got "
                    f"{_offending(self.weights, ~jnp.isfinite(self.weights) | (self.weights < 0))}."
                )

    def magnitudes(self, terms: Terms, point: Point) -> Magnitudes:
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
        return super().variance_of_terms(values, n, self.weights)

    def block(self, factors: Factors, request: Request) -> Block:
        return self.copies(factors, request)


_UNDRAWN = (
    "weights of Importance must be positive and finite wherever {symbol} has a term, or it would "
    "never be drawn and the estimate would be biased; got {got}. Add a small constant to them."
)


def _offending(weights: Any, wrong: Any) -> str:
    first = int(np.flatnonzero(np.asarray(wrong))[0])
    return f"{float(weights[first]):g} at number {first}"


@final
class Stratified(AbstractTermProbe):
    """Terms in strata of neighbours, with some drawn from each, without replacement.

    With `per_stratum` = m the N terms are cut into ⌊n/m⌋ strata of nearly equal size. The variance
    is Σ_h N_h²/n_h (1 − n_h/N_h) S_h²: only the variance within the strata counts, so it is small
    where terms change slowly with their number.

    **Arguments:**

    - `per_stratum`: how many are drawn from each stratum. With 2 or more there is an unbiased
        standard error. 1 has the least variance where terms change slowly, and no standard error.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 16, probes=do.probes.Stratified())
        ```
    """

    per_stratum: int = eqx.field(static=True, default=2)
    name: ClassVar[str] = "stratified"

    def __check_init__(self) -> None:
        if not isinstance(self.per_stratum, int) or self.per_stratum < 1:
            raise ValueError(
                f"per_stratum of Stratified must be an integer of at least 1; got "
                f"{self.per_stratum!r}."
            )

    def select(self, key: Key, total: int, n: int) -> Selection:
        strata = cut(total, n, max(1, n // self.per_stratum))
        numbers = sampling.stratified(key, strata)
        weights = np.concatenate([np.full(k, size / k) for k, size in strata])
        unknown = None
        if any(k == 1 < size for k, size in strata):
            unknown = (
                "one draw from each stratum has no unbiased standard error; got Stratified with "
                f"{n} draws in {len(strata)} strata. Use per_stratum=2."
            )
        return Selection(numbers, weights, strata, unknown)

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        return _without_replacement(values, cut(values.shape[0], n, max(1, n // self.per_stratum)))


def cut(total: int, n: int, number: int) -> tuple[Stratum, ...]:
    """Strata of nearly equal size with nearly equal numbers of draws, large ones first: those have
    one term more than the others, and one draw more where draws are left over.
    """
    size, larger = divmod(total, number)
    draws, more = divmod(n, number)
    return tuple(Stratum(draws + (h < more), size + (h < larger)) for h in range(number))


@final
class Systematic(AbstractTermProbe):
    """Every (N/n)-th term, from a random first one on, in a circle.

    As even as [`diffop.probes.Stratified`][] with one draw for each stratum, and the cheapest draw
    there is. It has no unbiased standard error, and does badly where terms have a period.

    !!! example

        ```python
        import jax
        import diffop as do

        do.Laplacian().estimate(jax.random.key(0), 16, probes="systematic")
        ```
    """

    name: ClassVar[str] = "systematic"

    def select(self, key: Key, total: int, n: int) -> Selection:
        first = sampling.uniform(key, total, 1)
        numbers = (first + jnp.asarray(self._steps(total, n))) % total
        unknown = (
            "systematic draws have no unbiased standard error: all of them follow from the first. "
            'Use probes="stratified" or "sparse".'
        )
        return Selection(numbers, np.full(n, total / n), (Stratum(n),), unknown)

    def _steps(self, total: int, n: int) -> np.ndarray:
        return np.arange(n) * total // n

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        """Over all first terms, which are equally likely."""
        total = values.shape[0]
        estimates = sum(jnp.roll(values, -int(step), axis=0) for step in self._steps(total, n))
        return jnp.var(jnp.asarray(estimates) * (total / n), axis=0)


@final
class Split(AbstractTermProbe):
    """Some terms always, and n of the others without replacement.

    For operators with a few large terms that are known beforehand: these have no variance.

    **Arguments:**

    - `exact`: the numbers of the terms that are always taken, such as coordinates for Δ.

    **Raises:** `ValueError` for repeated or negative numbers, and when evaluated for numbers that
    there are not.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        probe = do.probes.Split(exact=(0, 1))
        E = do.Laplacian().estimate(jax.random.key(0), 4, probes=probe)
        E.stats(lambda x: 50 * x[0] ** 2 + jnp.sum(x**2))(jnp.ones(100))  # 300, no error, 6 jets
        ```
    """

    exact: tuple[int, ...] = eqx.field(static=True)
    name: ClassVar[str] = "split"

    def __init__(self, exact: Iterable[int]) -> None:
        chosen = tuple(exact)
        numbers = tuple(sorted(i.__index__() for i in chosen if hasattr(i, "__index__")))
        different = len(set(numbers)) == len(chosen)
        if not different or (numbers and numbers[0] < 0):
            raise ValueError(
                f"exact of Split must be different numbers of terms, counted from 0; got {exact!r}."
            )
        self.exact = numbers

    def is_exhaustive(self, factors: Factors, point: Point, n: int) -> bool:
        return number_of_terms(factors, point) <= n + len(self.exact)

    def select(self, key: Key, total: int, n: int) -> Selection:
        kept = np.array(self.exact, dtype=np.int32)
        if kept.size and kept[-1] >= total:
            raise ValueError(
                f"exact of Split names term {kept[-1]}, but there are only {total} here (numbered "
                "from 0)."
            )
        others = total - kept.size
        drawn = sampling.subset(key, others, n)
        # the j-th of the others is j plus as many as are kept before it
        before = jnp.asarray(kept - np.arange(kept.size), drawn.dtype)
        drawn = drawn + jnp.searchsorted(before, drawn, "right").astype(drawn.dtype)
        return Selection(
            jnp.concatenate([jnp.asarray(kept), drawn.astype(kept.dtype)]),
            np.concatenate([np.ones(kept.size), np.full(n, others / n)]),
            tuple(filter(_has_draws, (Stratum(kept.size, kept.size), Stratum(n, others)))),
        )

    def variance_of_terms(self, values: Array, n: int, magnitudes: Magnitudes | None) -> Array:
        others = jnp.delete(values, np.array(self.exact, int), axis=0)
        return _without_replacement(others, (Stratum(n, others.shape[0]),))


def _without_replacement(values: Array, strata: Sequence[Stratum]) -> Array:
    """Σ_h N_h²/n_h (1 − n_h/N_h) S_h²."""
    total, start = jnp.zeros(values.shape[1:], jnp.finfo(values.dtype).dtype), 0
    for n, size in strata:
        members = values[start : start + int(size)]
        start += int(size)
        if n < size:
            total = total + size**2 / n * (1 - n / size) * jnp.var(members, axis=0, ddof=1)
    return total


def _has_draws(stratum: Stratum) -> bool:
    return stratum.n > 0


Sets: TypeAlias = list[tuple[Terms, int]]


def split_by_size(factors: Factors, point: Point) -> tuple[Sets, Sets]:
    """The factors with many terms, and those with one."""
    sets = [(terms, power) for terms, power in factors if isinstance(terms, Terms)]
    large = [(terms, power) for terms, power in sets if terms.count(point) > 1]
    return large, [(terms, power) for terms, power in sets if terms.count(point) == 1]


def alike(factors: Factors, point: Point) -> Terms | None:
    """The only factor with many terms, if all of these have the same weight."""
    large, _ = split_by_size(factors, point)
    if len(large) != 1 or large[0][1] != 1:
        return None
    terms, _ = large[0]
    return terms if terms.magnitudes(point) is None else None


def with_constants(block: Block, small: Factors, request: Request) -> Block:
    """Drawn terms times factors of a single term."""
    design, signature, draws = block.design, block.signature, block.weights.shape[0]
    for terms, power in small:
        assert isinstance(terms, Terms)
        one = power_of(terms.take(request.point, None), power)
        block = along(block, repeated(one, draws))
    signature = signature if not small else block.signature
    return Block(block.weights, block.slots, block.exponents, signature, design)

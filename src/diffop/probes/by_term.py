"""Probes that draw terms of a sum.

A sum of N terms T = Σ_i t_i is estimated from some of them. If term i is in the draw with
probability π_i, Σ_{i drawn} t_i/π_i has the mean T (Horvitz and Thompson). Without replacement
π = n/N for all; in strata π = n_h/N_h; systematically π = n/N. Drawn n times independently with
probabilities p, (1/n) Σ_r t_{i_r}/p_{i_r} has the mean T wherever p_i > 0 for t_i ≠ 0.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from ..array_types import Key, Magnitudes, TermNumbers, Weights
from ..arrays import wide
from ..jets.design import Design, Stratum
from ..jets.point import Point
from ..jets.terms import Factors, Terms
from ..jets.weighted_jets import WeightedJets, drawn, power_of, take, termwise_product
from ..streams import stream
from .base import AbstractProbe, Draw, check_drawn


@final
class Selection(NamedTuple):
    """Drawn terms: $Σ_r w_r t_{i_r}$ is unbiased for the sum of all terms.

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

    In a product of factors one factor may have many terms. For powers such as $Δ²$, whose terms are
    tuples, use [`diffop.probes.Sparse`][] or [`diffop.probes.Importance`][].

    **Raises:** `ValueError` if the selection has wrong shapes, or numbers of terms that do not
    exist; under `jax.jit`, where numbers are known only at run time, by `equinox.error_if`.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        class WithReplacement(do.probes.AbstractTermProbe):
            name = "with replacement"

            def select(self, key, total, n):
                numbers = jax.random.randint(key, (n,), 0, total)
                strata = (do.probes.Stratum(n),)
                return do.probes.Selection(numbers, jnp.full(n, total / n), strata)

        do.Laplacian().estimate(jax.random.key(0), 8, probes=WithReplacement())
        ```
    """

    @abstractmethod
    def select(self, key: Key, total: int, n: int) -> Selection:
        """Draws among the terms 0 … total − 1."""

    def variance_of_terms(
        self, values: Array, n: int, magnitudes: Magnitudes | None
    ) -> Array | None:
        """The variance of n draws from the values of all terms, along the first axis; None if no
        formula is known. `magnitudes` are those of the terms' coefficients, None if all are equal.
        """
        return None

    def supports(self, factors: Factors) -> bool:
        """Without a point: at one, a factor may have a single term (`split_by_size`)."""
        large = [power for terms, power in factors if not terms.single]
        return large == [1]

    def jets(self, factors: Factors, point: Point, draw: Draw) -> WeightedJets:
        large, small = split_by_size(factors, point)
        ((terms, _),) = large
        total = terms.numbered(point)
        key = stream(draw.key, "terms", total)
        selection = self.select(key, total, draw.n)
        check_drawn(self, selection.numbers, selection.weights)
        jets = terms.take(point, self._checked(wide(selection.numbers), total))
        design = Design((self.name, total), selection.strata, selection.unknown)
        jets = drawn(jets, design, (draw.identity, "terms"), selection.weights)
        return with_constants(jets, small, point)

    def _checked(self, numbers: TermNumbers, total: int) -> TermNumbers:
        """The numbers of terms, checked to lie below `total`."""
        text = f"the probe {self.name!r} must select among the terms 0 … {total - 1}; got "
        if isinstance(numbers, Tracer):
            if __name__.startswith(f"{type(self).__module__.partition('.')[0]}."):
                return numbers  # diffop's own probes are correct, and each check costs time
            wrong = jnp.any((numbers < 0) | (numbers >= total))
            return eqx.error_if(numbers, wrong, text + "others.")
        outside = np.asarray(numbers)[(np.asarray(numbers) < 0) | (np.asarray(numbers) >= total)]
        if outside.size:
            raise ValueError(f"{text}the number {outside[0]}.")
        return numbers


def without_replacement(values: Array, strata: Sequence[Stratum]) -> Array:
    """Σ_h N_h²/n_h (1 − n_h/N_h) S_h²."""
    total, start = jnp.zeros(values.shape[1:], jnp.finfo(values.dtype).dtype), 0
    for n, size in strata:
        members = values[start : start + int(size)]
        start += int(size)
        if n < size:
            total = total + size**2 / n * (1 - n / size) * jnp.var(members, axis=0, ddof=1)
    return total


SizedTerms: TypeAlias = list[tuple[Terms, int]]


def split_by_size(factors: Factors, point: Point) -> tuple[SizedTerms, SizedTerms]:
    """The factors with many terms, and those with one."""
    sets = [(terms, power) for terms, power in factors if isinstance(terms, Terms)]
    large = [(terms, power) for terms, power in sets if terms.count(point) > 1]
    return large, [(terms, power) for terms, power in sets if terms.count(point) == 1]


def equally_weighted_factor(factors: Factors, point: Point) -> Terms | None:
    """The only factor with many terms, if all of these have the same weight."""
    large, _ = split_by_size(factors, point)
    if len(large) != 1 or large[0][1] != 1:
        return None
    terms, _ = large[0]
    return terms if terms.magnitudes(point) is None else None


def with_constants(jets: WeightedJets, small: SizedTerms, point: Point) -> WeightedJets:
    """Drawn terms times factors of a single term."""
    for terms, power in small:
        one = power_of(terms.take(point, None), power)
        jets = termwise_product(jets, take(one, np.zeros(jets.size, np.int32)))
    return jets

"""Sets of terms: what the factors of an operator are made of.

A homogeneous constant-coefficient factor of order k is a sum of N terms w_r Π_j (v_{r,j}·∇)^{p_j}
with one pattern of exponents p. A set of terms knows how many there are at a given point, what they
are, and how to draw some of them with the right weights. It never lists what it is not asked for: N
may be a million.
"""

from abc import abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import Key, Magnitudes, SubRows, TermNumbers, Weights
from . import sampling
from .directions import Directions
from .point import Point

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


@final
class Block(eqx.Module):
    """N terms written out: weights w_r and, for each exponent of the pattern, N directions.

    `signature` names the directions, with several slots as a tuple of names: equal names (not None)
    belong to equal directions, which can share jets. `design` names how the terms were drawn: None
    for all of them, else a key for the statistics.
    """

    weights: Weights
    slots: tuple[Directions, ...]
    exponents: tuple[int, ...] = eqx.field(static=True)
    signature: Hashable = eqx.field(static=True, default=None)
    design: Hashable = eqx.field(static=True, default=None)

    @property
    def order(self) -> int:
        return sum(self.exponents)

    @property
    def signatures(self) -> tuple[Hashable, ...]:
        """The name of each slot, or None."""
        if len(self.slots) == 1:
            return (self.signature,)
        return self.signature if isinstance(self.signature, tuple) else (None,) * len(self.slots)


class Factor(eqx.Module):
    """A homogeneous factor of an operator.

    `rank` tells how the output's shape relates to u's: 0 as u's, +1 with an axis of directions
    added (gradient), −1 with one contracted (divergence).
    """

    rank: AbstractClassVar[int]
    constant: AbstractClassVar[bool]
    """Whether the factor is the same at every point, so that it commutes with derivatives."""
    exponents: AbstractClassVar[tuple[int, ...]]
    symbol: AbstractClassVar[str]
    """How the factor prints."""
    count_symbol: AbstractClassVar[str]
    """The number of terms as a formula in d, for the plan."""
    direction_symbol: AbstractClassVar[str]
    """The directions as a formula, for the plan."""

    @property
    def order(self) -> int:
        return sum(self.exponents)

    @property
    def single(self) -> bool:
        """Whether there is one term whatever the point, so that nothing is to be drawn."""
        return self.count_symbol == "1"

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Equal for factors that are the same symbol; used to collect like terms."""

    @abstractmethod
    def count(self, point: Point) -> int:
        """The number N of terms; checks that the factor fits the point."""


class Terms(Factor):
    """A factor as a set of terms. Subclasses are final and say what the terms are."""

    @abstractmethod
    def take(self, point: Point, index: TermNumbers | None) -> Block:
        """The terms with these numbers; all of them for None."""

    @abstractmethod
    def magnitudes(self, point: Point) -> Magnitudes | None:
        """Unnormalised probabilities to draw terms with; None for all alike."""

    def subset(self, point: Point, key: Key, n: int, tag: int) -> Block:
        """n different terms, all alike, weighted so that the sum is unbiased."""
        total = self.count(point)
        block = self.take(point, sampling.subset(key, total, n))
        signature = None if block.signature is None else ("subset", tag, n, block.signature)
        weights = block.weights * (total / n)
        return Block(weights, block.slots, block.exponents, signature, ("subset", total))

    def independent(self, point: Point, key: Key, n: int) -> Block:
        """n independent terms, each weighted with 1/p: their mean is unbiased (1/n is left out)."""
        magnitudes = self.magnitudes(point)
        if magnitudes is None:
            total = self.count(point)
            block = self.take(point, sampling.uniform(key, total, n))
            return Block(block.weights * float(total), block.slots, block.exponents)
        index, inverse = sampling.weighted(key, magnitudes, n)
        block = self.take(point, index)
        weights = block.weights * inverse.astype(block.weights.dtype)
        return Block(weights, block.slots, block.exponents)


class ProbedTerms(Terms):
    """A set of terms that dense isotropic directions estimate too."""

    jets_per_probe: AbstractClassVar[int]
    """How many jets one dense direction costs."""

    @abstractmethod
    def probe_kinds(self, power: int) -> tuple[str, ...]:
        """Which kinds of dense probes estimate this power of the factor without bias."""

    @abstractmethod
    def probe_space(self, point: Point) -> int:
        """The dimension of the isotropic directions."""

    @abstractmethod
    def probe(self, point: Point, kind: str, directions: SubRows) -> Block:
        """Jets along isotropic directions, each with the factor as its expectation."""

    @abstractmethod
    def probe_dtype(self, point: Point) -> Any:
        """The type of the isotropic directions."""


def times(left: Any, right: Any) -> Any:
    """A product of weights; what numpy knows stays with numpy."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left * right
    arrays = [x for x in (left, right) if not isinstance(x, np.ndarray)]
    dtype = jnp.result_type(*arrays)
    return jnp.asarray(left).astype(dtype) * jnp.asarray(right).astype(dtype)

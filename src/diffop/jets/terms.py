"""Sets of terms: what the factors of an operator are made of.

A homogeneous constant-coefficient factor of order k is a sum of N terms w_r Π_j (v_{r,j}·∇)^{p_j} with one pattern of exponents
p. A set of terms knows how many there are at a given point, what they are, and how to draw some of them with the right
weights. It never lists what it is not asked for: N may be a million.
"""

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, final

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, Shaped

from . import sampling
from .directions import Directions
from .point import Point


@final
class Block(eqx.Module):
    """N terms written out: weights w_r and, for each exponent of the pattern, N directions.

    `signature` names the directions: blocks with equal signatures (not None) have equal directions and can share jets.
    `design` names how the terms were drawn: None for all of them, else a key for the statistics.
    """

    weights: Shaped[Array | np.ndarray, " n"]
    slots: tuple[Directions, ...]
    exponents: tuple[int, ...] = eqx.field(static=True)
    signature: Hashable = eqx.field(static=True, default=None)
    design: Hashable = eqx.field(static=True, default=None)


class Terms(eqx.Module):
    """A set of terms. Subclasses are final and say what the terms are; drawing them is done here.

    A new factor of operators implements the abstract members. `rank` tells how the output's shape relates to u's:
    0 as u's, +1 with an axis of directions added (gradient), −1 with one contracted (divergence).
    """

    argnum: eqx.AbstractVar[int]
    exponents: eqx.AbstractVar[tuple[int, ...]]

    rank: eqx.AbstractClassVar[int]

    @property
    @abstractmethod
    def constant(self) -> bool:
        """Whether the factor is the same at every point, so that it commutes with other derivatives."""

    @property
    def order(self) -> int:
        return sum(self.exponents)

    @property
    def single(self) -> bool:
        """Whether there is one term whatever the point, so that nothing is to be drawn."""
        return self.count_symbol == "1"

    @property
    @abstractmethod
    def symbol(self) -> str:
        """How the factor prints."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """Equal for factors that are the same symbol; used to collect like terms."""

    @abstractmethod
    def count(self, point: Point) -> int:
        """N; checks that the factor fits the point."""

    @property
    @abstractmethod
    def count_symbol(self) -> str:
        """N as a formula in d, for the plan."""

    @property
    @abstractmethod
    def direction_symbol(self) -> str:
        """The directions as a formula, for the plan."""

    @abstractmethod
    def take(self, point: Point, index: Int[Any, " n"] | None) -> Block:
        """The terms with these numbers; all of them for None."""

    @abstractmethod
    def magnitudes(self, point: Point) -> Shaped[Array, " terms"] | None:
        """Unnormalised probabilities to draw terms with; None for all alike."""

    @abstractmethod
    def probe(self, point: Point, kind: str, directions: Shaped[Array, "n d"]) -> Block | None:
        """Jets along isotropic directions with the factor as their expectation; None where there are none."""

    @abstractmethod
    def probe_space(self, point: Point) -> int | None:
        """The dimension of the isotropic directions; None for a factor without dense probes."""

    @property
    @abstractmethod
    def jets_per_probe(self) -> int:
        """How many jets one dense direction costs; 0 for a factor without dense probes."""

    @abstractmethod
    def probe_kinds(self, power: int) -> tuple[str, ...]:
        """Which kinds of dense probes estimate this power of the factor without bias."""

    def subset(self, point: Point, key: PRNGKeyArray, n: int, tag: int) -> Block:
        """n different terms, all alike, weighted so that the sum is unbiased."""
        total = self.count(point)
        block = self.take(point, sampling.subset(key, total, n))
        signature = None if block.signature is None else ("subset", tag, n, block.signature)
        return Block(
            block.weights * (total / n), block.slots, block.exponents, signature, ("subset", total)
        )

    def independent(self, point: Point, key: PRNGKeyArray, n: int) -> Block:
        """n independent terms, each weighted with 1/p; their mean is unbiased (the 1/n is left to the caller)."""
        magnitudes = self.magnitudes(point)
        if magnitudes is None:
            total = self.count(point)
            block = self.take(point, jax.random.randint(key, (n,), 0, total))
            inverse: Any = float(total)
        else:
            index, inverse = sampling.weighted(key, magnitudes, n)
            block = self.take(point, index)
            inverse = (
                inverse.astype(block.weights.dtype) if hasattr(block.weights, "dtype") else inverse
            )
        return Block(block.weights * inverse, block.slots, block.exponents)

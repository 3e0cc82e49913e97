"""Sets of terms: what the factors of an operator are made of.

A homogeneous constant-coefficient factor of order k is a sum of N terms w_r Π_j (v_{r,j}·∇)^{p_j}
with one pattern of exponents p. A set of terms knows how many there are at a given point, what they
are, and how to draw some of them with the right weights. It never lists what it is not asked for: N
may be a million.
"""

from abc import abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from .._types import Magnitudes, SubRows, TermNumbers, Weights
from .design import Design
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
    belong to equal directions, which can share jets. `design` tells how the terms were drawn: None
    for all of them.
    """

    weights: Weights
    slots: tuple[Directions, ...]
    exponents: tuple[int, ...] = eqx.field(static=True)
    signature: Hashable = eqx.field(static=True, default=None)
    design: Design | None = eqx.field(static=True, default=None)

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

    def numbered(self, point: Point) -> int:
        """How many numbers there are to `take`; more than terms where some terms have two."""
        return self.count(point)


@final
class Target(NamedTuple):
    """The moment that random directions v need, to estimate an operator densely.

    - `kind`: "trace" for E[v vᵀ] = I, which serves every quadratic form; "laplacian" for
        E[(v·∇)^order] ∝ Δ^(order/2); "diagonal" for E[(v·∇)^order] = Σ_i ∂_i^order.
    - `order`: 2 for a trace.
    """

    kind: Literal["trace", "laplacian", "diagonal"]
    order: int


TRACE = Target("trace", 2)


class ProbedTerms(Terms):
    """A set of terms that dense isotropic directions estimate too."""

    probe_symbol: AbstractClassVar[str]
    """The directions of one jet, as a formula in the isotropic v."""

    @abstractmethod
    def target(self, power: int) -> Target | None:
        """What directions need for this power of the factor; None where none are known."""

    @abstractmethod
    def probe_space(self, point: Point) -> int:
        """The dimension of the isotropic directions."""

    @abstractmethod
    def probe(self, point: Point, directions: SubRows) -> Block:
        """Jets along directions with the moment of the target, each with the factor as its
        expectation.
        """

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

"""The factors of operators, as sets of terms.

A homogeneous factor of order k with constant coefficients is a sum of N terms w_r Π_j
(v_{r,j}·∇)^{p_j} with one pattern of exponents p. A set of terms knows how many there are at a
given point, what they are, and how to draw some of them with the right weights. It lists only the
terms that are asked for: N may be a million.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..array_types import Magnitudes, SubRows, TermNumbers
from ..notation import argument_mark, dims_mark
from .directions import Rows, basis_directions
from .identity import by_object
from .point import Point
from .weighted_jets import WeightedJets, terms_along

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


class Factor(eqx.Module):
    """A homogeneous factor of an operator. As a string it is its symbol.

    `rank` relates the output's shape to u's: 0 for the same shape, +1 if an axis of directions is
    added (gradient), −1 if one is contracted (divergence).
    """

    rank: AbstractClassVar[int]
    mixes: ClassVar[bool] = False
    """Whether u's values are combined with one another. Taking an entry of u must then
    come first.
    """
    constant: AbstractClassVar[bool]
    """Whether the factor is the same at every point, so it commutes with derivatives."""
    exponents: AbstractClassVar[tuple[int, ...]]
    symbol: AbstractClassVar[str]
    """How the factor prints."""
    number: AbstractClassVar[int | None]
    """How many terms there are at any point; None if it depends on the point."""

    @property
    def order(self) -> int:
        return sum(self.exponents)

    @property
    def componentwise(self) -> bool:
        """Whether the factor acts on each value of u separately, in the same way."""
        return self.rank == 0 and not self.mixes

    @property
    def single(self) -> bool:
        """Whether there is one term at any point, so that nothing has to be drawn."""
        return self.number == 1

    @property
    def key(self) -> Hashable:
        """Equal for factors with the same symbol; used to collect like terms."""
        compared = [field for field in dataclasses.fields(self) if field.compare]
        fields = [(getattr(self, field.name), field.metadata) for field in compared]
        parts = [value if "static" in metadata else by_object(value) for value, metadata in fields]
        return (type(self), *parts)

    def __str__(self) -> str:
        return self.symbol

    @abstractmethod
    def count(self, point: Point) -> int:
        """The number N of terms; checks that the factor fits the point."""


Factors: TypeAlias = Sequence[tuple[Factor, int]]
"""Factors of a homogeneous operator with their powers."""


class Located(Factor):
    """A factor in some or all of the coordinates of one argument."""

    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    """Which coordinates; None for all of them."""

    @property
    def mark(self) -> str:
        """The argument and coordinates, as part of the symbol."""
        return dims_mark(self.dims) + argument_mark(self.argnum)

    def dimension(self, point: Point) -> int:
        """The number of these coordinates; checks that the argument has them."""
        return point.coordinates(self.argnum, self.dims, self)

    def count(self, point: Point) -> int:
        return self.dimension(point)

    def positions(self, point: Point, index: Any = None) -> Any:
        """The positions of these coordinates in the argument, or of some of them by number."""
        total = point.coordinates(self.argnum, self.dims, self)
        if self.dims is None:
            return np.arange(total, dtype=np.int32) if index is None else index
        chosen = np.asarray(self.dims, dtype=np.int32)
        return chosen if index is None else jnp.asarray(chosen)[index]

    def embed(self, rows: SubRows, point: Point) -> Rows:
        """Rows in these coordinates, as directions of the whole argument in its own type."""
        rows = rows.astype(point.dtype(self.argnum))
        if self.dims is None:
            return Rows(rows)
        return Rows(rows, np.broadcast_to(np.asarray(self.dims, dtype=np.int32), rows.shape))

    def along_basis(
        self, point: Point, index: Any, order: int, weights: Any = None
    ) -> WeightedJets:
        """Σ_i w_i ∂_i^k over these coordinates, or some of them by number; w = 1 by default."""
        positions = self.positions(point, index)
        weights = np.ones(positions.shape[0]) if weights is None else weights
        slot, names = basis_directions(self.argnum, positions), (("basis", self.argnum, self.dims),)
        return terms_along([slot], weights, (order,), names, contracted=self.rank < 0)

    def along_rows(self, rows: SubRows, point: Point, order: int) -> WeightedJets:
        """Σ_r (v_r·∇)^k for isotropic directions in these coordinates."""
        slot = {self.argnum: self.embed(rows, point)}
        names, ones = (("probe", self.argnum, self.dims),), np.ones(rows.shape[0])
        return terms_along([slot], ones, (order,), names, contracted=self.rank < 0)


class Terms(Factor):
    """A factor as a set of terms. Subclasses are final and define the terms."""

    @abstractmethod
    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        """The terms with these numbers; all of them for None."""

    def whole(self, point: Point) -> WeightedJets:
        """All terms, if only their sum is used."""
        return self.take(point, None)

    def magnitudes(self, point: Point) -> Magnitudes | None:
        """Unnormalised probabilities for drawing terms; None if all are equal."""
        return None

    def numbered(self, point: Point) -> int:
        """How many numbers `take` accepts; more than terms if some terms have two numbers."""
        return self.count(point)


@final
class Target(NamedTuple):
    """The moment that random directions v need in order to estimate an operator densely.

    - `kind`: "trace" for $E[v vᵀ] = I$, which serves every quadratic form; "laplacian" for
        $E[(v·∇)^order] ∝ Δ^{order/2}$; "diagonal" for $E[(v·∇)^order] = Σ_i ∂_i^order$.
    - `order`: 2 for a trace.
    """

    kind: Literal["trace", "laplacian", "diagonal"]
    order: int


TRACE = Target("trace", 2)


class ProbedTerms(Located, Terms):
    """A set of terms that dense isotropic directions can estimate, too, with as many dimensions as
    terms.
    """

    def target(self, power: int) -> Target | None:
        """The moment that directions need for this power of the factor; None if none is known."""
        return TRACE if power == 1 else None

    @abstractmethod
    def probe(self, point: Point, directions: SubRows) -> WeightedJets:
        """Jets along directions with the moment of the target, each with the factor as its
        expectation.
        """

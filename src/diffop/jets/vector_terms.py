"""Factors that change the shape of the output: gradient and divergence."""

from typing import ClassVar, final

import equinox as eqx

from ..array_types import SubRows, TermNumbers
from .fields import Field, is_constant
from .point import Point
from .terms import Located, ProbedTerms
from .weighted_jets import WeightedJets


@final
class GradientTerms(Located):
    """∇, σᵀ∇ or, not transposed, the flux a∇: by reverse mode, so without jets."""

    field: Field | None
    transposed: bool = eqx.field(static=True, default=True)
    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = 1
    number: ClassVar[None] = None

    @property
    def symbol(self) -> str:
        if self.field is None:
            return f"∇{self.mark}"
        return f"σᵀ∇{self.mark}" if self.transposed else f"a∇{self.mark}"

    @property
    def constant(self) -> bool:
        return self.field is None or is_constant(self.field)


@final
class DivergenceTerms(ProbedTerms):
    """Σ_i ∂_i u_i of a vector-valued u: jets of order one whose outputs are contracted with their
    directions.
    """

    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = -1
    mixes: ClassVar[bool] = True
    constant: ClassVar[bool] = True
    number: ClassVar[None] = None

    @property
    def symbol(self) -> str:
        return f"div{self.mark}"

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        return self.along_basis(point, index, 1)

    def probe(self, point: Point, directions: SubRows) -> WeightedJets:
        return self.along_rows(directions, point, 1)

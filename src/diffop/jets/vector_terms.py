"""Factors that change the shape of the output: gradient and divergence."""

from collections.abc import Hashable
from typing import Any, ClassVar, final

import equinox as eqx
import numpy as np

from .._types import SubRows, TermNumbers
from .directions import basis
from .fields import Field, is_constant
from .identity import by_object
from .index_terms import coordinate_numbers, embed
from .notation import argument_mark, dims_mark
from .point import Point
from .terms import TRACE, Block, Factor, ProbedTerms, Target


@final
class GradientTerms(Factor):
    """∇, σᵀ∇ or, not transposed, the flux a∇: by reverse mode, so there are no jets to take."""

    field: Field | None
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    transposed: bool = eqx.field(static=True, default=True)
    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = 1
    count_symbol: ClassVar[str] = "0"
    direction_symbol: ClassVar[str] = "reverse mode"

    @property
    def symbol(self) -> str:
        mark = dims_mark(self.dims) + argument_mark(self.argnum)
        if self.field is None:
            return f"∇{mark}"
        return f"σᵀ∇{mark}" if self.transposed else f"a∇{mark}"

    @property
    def constant(self) -> bool:
        return self.field is None or is_constant(self.field)

    @property
    def key(self) -> Hashable:
        return ("gradient", by_object(self.field), self.argnum, self.dims, self.transposed)

    def count(self, point: Point) -> int:
        return point.coordinates(self.argnum, self.dims, self.symbol)


@final
class DivergenceTerms(ProbedTerms):
    """Σ_i ∂_i u_i of a vector-valued u: jets of order one whose outputs are contracted with their
    directions.
    """

    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = -1
    probe_symbol: ClassVar[str] = "v"
    constant: ClassVar[bool] = True
    count_symbol: ClassVar[str] = "d"
    direction_symbol: ClassVar[str] = "eᵢ"

    @property
    def symbol(self) -> str:
        return f"div{dims_mark(self.dims)}{argument_mark(self.argnum)}"

    @property
    def key(self) -> Hashable:
        return ("divergence", self.argnum, self.dims)

    def count(self, point: Point) -> int:
        return point.coordinates(self.argnum, self.dims, self.symbol)

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        positions = coordinate_numbers(point, self.argnum, self.dims, self.symbol, index)
        slots = (basis(self.argnum, positions),)
        return Block(
            np.ones(positions.shape[0]), slots, self.exponents, ("basis", self.argnum, self.dims)
        )

    def magnitudes(self, point: Point) -> None:
        return None

    def target(self, power: int) -> Target | None:
        return TRACE if power == 1 else None

    def probe_space(self, point: Point) -> int:
        return self.count(point)

    def probe_dtype(self, point: Point) -> Any:
        return point.dtype(self.argnum)

    def probe(self, point: Point, directions: SubRows) -> Block:
        rows = embed(directions, point, self.argnum, self.dims, self.symbol)
        signature = ("probe", self.argnum, self.dims)
        return Block(
            np.ones(directions.shape[0]), ({self.argnum: rows},), self.exponents, signature
        )

"""Terms named by coordinates: sums of pure powers, single mixed derivatives, and lists of them."""

from collections.abc import Hashable
from typing import Any, ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._types import SubRows, TermNumbers, TermPositions
from .directions import Dense, Sparse, basis
from .fields import Field, Scalar, is_constant, resolve
from .identity import Known, by_object, split_known
from .notation import argument_mark, derivative_symbol, dims_mark, superscript
from .point import Point
from .terms import TRACE, Block, ProbedTerms, Target, Terms


@final
class PowerSum(ProbedTerms):
    """Σ_{i ∈ dims} ∂_i^k: the Laplacian for k = 2."""

    argnum: int = eqx.field(static=True)
    power: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    rank: ClassVar[int] = 0
    probe_symbol: ClassVar[str] = "v"
    constant: ClassVar[bool] = True

    @property
    def exponents(self) -> tuple[int, ...]:
        return (self.power,)

    @property
    def symbol(self) -> str:
        mark = dims_mark(self.dims) + argument_mark(self.argnum)
        if self.power == 2:
            return f"Δ{mark}"
        return f"Σᵢ∂ᵢ{superscript(self.power)}{mark}"

    @property
    def key(self) -> Hashable:
        return ("power sum", self.argnum, self.power, self.dims)

    def count(self, point: Point) -> int:
        return point.coordinates(self.argnum, self.dims, self.symbol)

    @property
    def count_symbol(self) -> str:
        return "d" if self.dims is None else str(len(self.dims))

    @property
    def direction_symbol(self) -> str:
        return "eᵢ" if self.dims is None else f"eᵢ, i ∈ {dims_mark(self.dims)}"

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        positions = coordinate_numbers(point, self.argnum, self.dims, self.symbol, index)
        slots = (basis(self.argnum, positions),)
        return Block(
            np.ones(positions.shape[0]), slots, self.exponents, ("basis", self.argnum, self.dims)
        )

    def magnitudes(self, point: Point) -> None:
        return None

    def target(self, power: int) -> Target | None:
        if self.power == 2:
            return TRACE if power == 1 else Target("laplacian", 2 * power)
        return Target("diagonal", self.power) if power == 1 else None

    def probe_space(self, point: Point) -> int:
        return self.count(point)

    def probe_dtype(self, point: Point) -> Any:
        return point.dtype(self.argnum)

    def probe(self, point: Point, directions: SubRows) -> Block:
        rows = embed(directions, point, self.argnum, self.dims, self.symbol)
        signature = ("probe", self.argnum, self.dims)
        ones = np.ones(directions.shape[0])
        return Block(ones, ({self.argnum: rows},), self.exponents, signature)


@final
class Monomial(Terms):
    """One mixed derivative ∂^α, possibly across arguments: one term."""

    alpha: tuple[tuple[tuple[int, int], int], ...] = eqx.field(static=True)
    """((argnum, coordinate), order), sorted, orders positive."""
    scalars: frozenset[int] = eqx.field(static=True, default=frozenset())
    """Arguments whose coordinate was not named, and which have to have one only."""
    rank: ClassVar[int] = 0
    constant: ClassVar[bool] = True

    @property
    def exponents(self) -> tuple[int, ...]:
        return tuple(order for _, order in self.alpha)

    @property
    def symbol(self) -> str:
        return "".join(derivative_symbol(argnum, i, k) for (argnum, i), k in self.alpha)

    @property
    def key(self) -> Hashable:
        return ("monomial", self.alpha, self.scalars)

    def count(self, point: Point) -> int:
        for (argnum, i), _ in self.alpha:
            point.coordinates(argnum, (i,), self.symbol)
        for argnum in self.scalars:
            if (size := point.size(argnum, self.symbol)) > 1:
                raise ValueError(
                    "Partial without a coordinate is the derivative by a scalar argument; got "
                    f"argument {argnum}, which has {size} coordinates: say which one, "
                    f"Partial(i, argnum={argnum})."
                )
        return 1

    @property
    def count_symbol(self) -> str:
        return "1"

    @property
    def direction_symbol(self) -> str:
        return ", ".join(f"e{derivative_symbol(a, i, 1)[1:]}" for (a, i), _ in self.alpha)

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        self.count(point)
        n = 1 if index is None else index.shape[0]
        slots = tuple(basis(argnum, np.full(n, i)) for (argnum, i), _ in self.alpha)
        return Block(np.ones(n), slots, self.exponents)

    def magnitudes(self, point: Point) -> None:
        return None


@final
class CoordinateTerms(Terms):
    """Σ_r c_r Π_j ∂_{i_rj}^{p_j}: many mixed derivatives with one pattern of exponents."""

    argnums: tuple[int, ...] = eqx.field(static=True)
    pattern: tuple[int, ...] = eqx.field(static=True)
    field: Field
    """The coefficients, or a number for all terms, or a function of the point that returns those of
    several patterns, of which `rows` are these.
    """
    rows: Known | None = eqx.field(static=True)
    equal: bool = eqx.field(static=True)
    """All coefficients of one magnitude: drawn without replacement then."""
    bound: tuple[int, ...] = eqx.field(static=True)
    """The largest coordinate in each slot."""
    _known: Known | None = eqx.field(static=True)
    _traced: Any
    rank: ClassVar[int] = 0

    def __init__(
        self,
        argnums: tuple[int, ...],
        pattern: tuple[int, ...],
        positions: TermPositions,
        field: Field,
        rows: Known | None,
        equal: bool,
        bound: tuple[int, ...],
    ) -> None:
        self.argnums, self.pattern, self.field = argnums, pattern, field
        self.rows, self.equal, self.bound = rows, equal, bound
        self._known, self._traced = split_known(positions)

    @property
    def positions(self) -> TermPositions:
        """The coordinate of each slot of each term: a leaf only where it is traced."""
        return self._traced if self._known is None else self._known.array

    @property
    def constant(self) -> bool:
        return is_constant(self.field)

    @property
    def exponents(self) -> tuple[int, ...]:
        return self.pattern

    @property
    def symbol(self) -> str:
        powers = "".join(
            f"∂{letter}{superscript(p)}"
            for letter, p in zip("ᵢⱼₖₗₘₙₒₚₛₜ", self.exponents, strict=False)
        )
        return f"Σ{self.positions.shape[0]} c{powers}"

    @property
    def key(self) -> Hashable:
        positions = by_object(self._traced) if self._known is None else self._known
        return ("coordinates", positions, by_object(self.field), self.argnums, self.exponents)

    def count(self, point: Point) -> int:
        for argnum, largest in zip(self.argnums, self.bound, strict=True):
            point.coordinates(argnum, (largest,), "TensorOperator")
        return self.positions.shape[0]

    @property
    def count_symbol(self) -> str:
        return str(self.positions.shape[0])

    @property
    def direction_symbol(self) -> str:
        return ", ".join(
            f"e{letter}" for letter, _ in zip("ᵢⱼₖₗₘₙₒₚₛₜ", self.exponents, strict=False)
        )

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        self.count(point)
        positions = self.positions if index is None else jnp.asarray(self.positions)[index]
        coefficients = self._coefficients(point)
        coefficients = coefficients if index is None else jnp.asarray(coefficients)[index]
        slots = tuple(basis(argnum, positions[:, j]) for j, argnum in enumerate(self.argnums))
        return Block(coefficients, slots, self.exponents)

    def magnitudes(self, point: Point) -> Array | None:
        return None if self.equal or not self.constant else jnp.abs(jnp.asarray(self.field))

    def _coefficients(self, point: Point) -> Array | np.ndarray:
        if isinstance(self.field, Scalar):
            return np.full(self.positions.shape[0], self.field.value)
        if self.rows is None:
            return self.field
        values = resolve(self.field, point, self.argnums, "coefficients of TensorOperator")
        if callable(values) or values.ndim != 1 or values.shape[0] <= self.rows.array.max():
            raise ValueError(
                "the coefficient function of TensorOperator must return one number for each index; "
                f"got {'a product' if callable(values) else f'shape {values.shape}'}."
            )
        return values[self.rows.array]


def at_coordinates(i: Any, order: int, argnum: int) -> CoordinateTerms:
    """∂_i^k for an i that is traced, and taken to be in range."""
    return CoordinateTerms((argnum,), (order,), i.reshape(1, 1), Scalar(1.0), None, True, (0,))


def coordinate_numbers(
    point: Point, argnum: int, dims: tuple[int, ...] | None, operator: str, index: Any
) -> Any:
    """The coordinates that an operator acts on, or some of them by number."""
    total = point.coordinates(argnum, dims, operator)
    if dims is None:
        return np.arange(total, dtype=np.int32) if index is None else index
    chosen = np.asarray(dims, dtype=np.int32)
    return chosen if index is None else jnp.asarray(chosen)[index]


def embed(
    directions: SubRows,
    point: Point,
    argnum: int,
    dims: tuple[int, ...] | None,
    operator: str,
) -> Dense | Sparse:
    """Directions in the coordinates that an operator acts on, as directions of the whole
    argument.
    """
    if dims is None:
        return Dense(directions)
    positions = np.broadcast_to(np.asarray(dims, dtype=np.int32), directions.shape)
    return Sparse(positions, directions)

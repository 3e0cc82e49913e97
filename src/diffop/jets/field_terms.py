"""Terms with coefficient fields: first-order forms, quadratic forms and their square roots."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._types import Diagonal, Matrix, RowArray, SubRows, TermNumbers
from .directions import Dense, Rows, Sparse, basis, to_dense
from .fields import (
    Field,
    SparseColumns,
    apply_rows,
    expect_shape,
    is_constant,
    resolve,
    resolve_vector,
)
from .identity import by_object
from .index_terms import coordinate_numbers, embed
from .notation import argument_mark, dims_mark
from .point import Point
from .terms import TRACE, Block, ProbedTerms, Target, Terms


class _FieldTerms(Terms):
    """What all factors with a coefficient field share: its place in the arguments."""

    field: eqx.AbstractVar[Field]
    argnum: eqx.AbstractVar[int]
    dims: eqx.AbstractVar[tuple[int, ...] | None]

    @property
    def constant(self) -> bool:
        return is_constant(self.field)

    @property
    def mark(self) -> str:
        return dims_mark(self.dims) + argument_mark(self.argnum)

    @property
    def key(self) -> Hashable:
        return (type(self).__name__, by_object(self.field), self.argnum, self.dims)

    def _resolved(self, point: Point, what: str) -> Any:
        return resolve(self.field, point, self.argnum, what)

    def dimension(self, point: Point) -> int:
        return point.coordinates(self.argnum, self.dims, self.symbol)

    def embed(self, rows: SubRows, point: Point) -> Rows:
        """Rows in the coordinates acted on, as directions of the argument in its own type."""
        rows = rows.astype(point.dtype(self.argnum))
        return embed(rows, point, self.argnum, self.dims, self.symbol)

    def positions(self, point: Point, index: Any) -> Any:
        """The positions in the argument of coordinates acted on."""
        return coordinate_numbers(point, self.argnum, self.dims, self.symbol, index)

    def sparse_rows(self, columns: SparseColumns, point: Point, index: Any) -> Sparse:
        """Columns with few entries, as directions of the argument."""
        positions, values = columns.positions, columns.values
        if index is not None:
            positions, values = jnp.asarray(positions)[index], values[index]
        places = self.positions(point, positions.reshape(-1)).reshape(positions.shape)
        return Sparse(places, values)

    def unit_rows(self, point: Point, index: Any) -> SubRows:
        """Basis vectors among the coordinates acted on, as rows: what a product needs."""
        size = self.dimension(point)
        numbers = np.arange(size, dtype=np.int32) if index is None else index
        unit = Sparse(numbers[:, None], np.ones((numbers.shape[0], 1), np.int32))
        return to_dense(unit, size, point.dtype(self.argnum))


class QuadraticTerms(_FieldTerms, ProbedTerms):
    """What second-order factors with a field share: isotropic directions are enough."""

    def target(self, power: int) -> Target | None:
        return TRACE if power == 1 else None

    @abstractmethod
    def product(self, point: Point) -> Callable[[Array], Array]:
        """v ↦ Cv at a point; v ↦ σv for a square root, v ↦ Fv for a product of factors."""

    def probe_dtype(self, point: Point) -> Any:
        return point.dtype(self.argnum)

    def pairs(self, point: Point, directions: RowArray, products: RowArray) -> Block:
        """v·D²u·Cv for isotropic v.

        E[v (Cv)ᵀ] = Cᵀ, so the expectation is Σ C_ij ∂_i∂_j for every square C, indefinite or not
        symmetric, without its eigenvectors, and linear in C.
        """
        slots = tuple({self.argnum: self.embed(rows, point)} for rows in (directions, products))
        return Block(np.ones(directions.shape[0]), slots, (1, 1))


class CoefficientTerms(QuadraticTerms):
    """Those that are C:∇² for a C with entries."""

    @abstractmethod
    def matrix(self, point: Point) -> Array:
        """C, in the coordinates acted on."""


@final
class LinearForm(_FieldTerms):
    """b·∇, one term."""

    field: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = 0
    count_symbol: ClassVar[str] = "1"
    direction_symbol: ClassVar[str] = "b"

    @property
    def symbol(self) -> str:
        return f"b·∇{self.mark}"

    def count(self, point: Point) -> int:
        self.dimension(point)
        return 1

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        b = resolve_vector(self.field, point, self.argnum, "b of Directional")
        expect_shape(b, ((self.dimension(point),),), "b of Directional")
        n = 1 if index is None else index.shape[0]
        rows = self.embed(jnp.broadcast_to(b, (n, *b.shape)), point)
        return Block(np.ones(n), ({self.argnum: rows},), self.exponents)

    def magnitudes(self, point: Point) -> None:
        return None


@final
class DiagonalForm(CoefficientTerms):
    """Σ_i C_i ∂_i², C a vector."""

    field: Diagonal
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    equal: bool = eqx.field(static=True)
    """All coefficients of one magnitude: drawn without replacement then."""
    exponents: ClassVar[tuple[int, ...]] = (2,)
    rank: ClassVar[int] = 0
    probe_symbol: ClassVar[str] = "v, Cv"
    count_symbol: ClassVar[str] = "d"
    direction_symbol: ClassVar[str] = "eᵢ"

    @property
    def symbol(self) -> str:
        return f"Σᵢcᵢ∂ᵢ²{self.mark}"

    def count(self, point: Point) -> int:
        size = self.dimension(point)
        expect_shape(self.field, ((size,),), "C of SecondOrder")
        return size

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        self.count(point)
        positions = coordinate_numbers(point, self.argnum, self.dims, self.symbol, index)
        weights = self.field if index is None else jnp.asarray(self.field)[index]
        signature = ("basis", self.argnum, self.dims)
        return Block(weights, (basis(self.argnum, positions),), self.exponents, signature)

    def matrix(self, point: Point) -> Array:
        self.count(point)
        return jnp.diag(jnp.asarray(self.field))

    def magnitudes(self, point: Point) -> Array | None:
        return None if self.equal else jnp.abs(jnp.asarray(self.field))

    def product(self, point: Point) -> Callable[[Array], Array]:
        self.count(point)
        return _product(jnp.asarray(self.field))

    def probe_space(self, point: Point) -> int:
        return self.count(point)

    def probe(self, point: Point, directions: SubRows) -> Block:
        scaled = directions * jnp.asarray(self.field).astype(directions.dtype)[None, :]
        return self.pairs(point, directions, scaled)


@final
class EntryForm(CoefficientTerms):
    """Σ_ij C_ij ∂_i∂_j, C a matrix: all of it by rows, samples of it by entries."""

    field: Matrix
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    exponents: ClassVar[tuple[int, ...]] = (1, 1)
    rank: ClassVar[int] = 0
    probe_symbol: ClassVar[str] = "v, Cv"
    count_symbol: ClassVar[str] = "d"
    direction_symbol: ClassVar[str] = "eᵢ, Ceᵢ"

    @property
    def symbol(self) -> str:
        return f"C:∇²{self.mark}"

    def count(self, point: Point) -> int:
        """Rows: so many jets are all of it."""
        size = self.dimension(point)
        expect_shape(self.field, ((size, size),), "C of SecondOrder")
        return size

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        """All: the d terms ∂_i (C_i·∇). Numbered: entries, row by row (both orders of a pair, so
        none is missed).
        """
        self.count(point)
        matrix = self._symmetric()
        if index is None:
            positions = self.positions(point, None)
            slots = (basis(self.argnum, positions), {self.argnum: self.embed(matrix, point)})
            return Block(np.ones(matrix.shape[0]), slots, self.exponents)
        rows, columns = jnp.divmod(index, matrix.shape[0])
        chosen = [
            coordinate_numbers(point, self.argnum, self.dims, self.symbol, i)
            for i in (rows, columns)
        ]
        slots = tuple(basis(self.argnum, positions) for positions in chosen)
        return Block(matrix[rows, columns], slots, self.exponents)

    def numbered(self, point: Point) -> int:
        return self.dimension(point) ** 2

    def matrix(self, point: Point) -> Array:
        self.count(point)
        return jnp.asarray(self.field)

    def magnitudes(self, point: Point) -> Array:
        self.count(point)
        return jnp.abs(jnp.ravel(self._symmetric()))

    def _symmetric(self) -> Array:
        matrix = jnp.asarray(self.field)
        return (matrix + matrix.T) / 2

    def product(self, point: Point) -> Callable[[Array], Array]:
        self.count(point)
        return _product(jnp.asarray(self.field))

    def probe_space(self, point: Point) -> int:
        self.count(point)
        return self.dimension(point)

    def probe(self, point: Point, directions: SubRows) -> Block:
        matrix = jnp.asarray(self.field).astype(directions.dtype)
        return self.pairs(point, directions, directions @ matrix.T)


@final
class RowForm(CoefficientTerms):
    """Σ_ij C_ij ∂_i∂_j for a C that depends on the point, has few entries or is known by its
    products: the d terms ∂_i (C e_i·∇).
    """

    field: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    exponents: ClassVar[tuple[int, ...]] = (1, 1)
    rank: ClassVar[int] = 0
    probe_symbol: ClassVar[str] = "v, Cv"
    count_symbol: ClassVar[str] = "d"
    direction_symbol: ClassVar[str] = "eᵢ, Ceᵢ"

    @property
    def symbol(self) -> str:
        return f"C:∇²{self.mark}"

    def count(self, point: Point) -> int:
        return self.dimension(point)

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        value = self._value(point)
        slot = basis(self.argnum, self.positions(point, index))
        if not callable(value) and value.ndim == 1:
            weights = value if index is None else value[index]
            return Block(weights, (slot,), (2,), ("basis", self.argnum, self.dims))
        if isinstance(value, SparseColumns):
            columns = self.sparse_rows(value, point, index)
        else:
            unit = self.unit_rows(point, index)
            columns = self.embed(apply_rows(_product(value), unit), point)
        n = self.count(point) if index is None else index.shape[0]
        return Block(np.ones(n), (slot, {self.argnum: columns}), self.exponents)

    def magnitudes(self, point: Point) -> None:
        return None

    def product(self, point: Point) -> Callable[[Array], Array]:
        return _product(self._value(point))

    def probe_space(self, point: Point) -> int:
        return self.dimension(point)

    def probe(self, point: Point, directions: SubRows) -> Block:
        products = apply_rows(_product(self._value(point)), directions)
        return self.pairs(point, directions, products.astype(directions.dtype))

    def matrix(self, point: Point) -> Array:
        value = self._value(point)
        if callable(value):
            raise ValueError(
                "shifted probes need the entries of C, and here C of SecondOrder is known by its "
                'products alone; use probes="rademacher", which has the same expectation.'
            )
        if isinstance(value, SparseColumns):
            return value.matrix()
        return jnp.diag(value) if value.ndim == 1 else value

    def _value(self, point: Point) -> Any:
        value, size = self._resolved(point, "C of SecondOrder"), self.dimension(point)
        if not callable(value):
            expect_shape(value, ((size,), (size, size)), "C of SecondOrder")
        return value


@final
class SquareRoot(QuadraticTerms):
    """½ Σ_i (σ e_i·∇)², that is ½ tr(σσᵀ Hess): one term for each column of σ."""

    field: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    exponents: ClassVar[tuple[int, ...]] = (2,)
    rank: ClassVar[int] = 0
    probe_symbol: ClassVar[str] = "σv"
    count_symbol: ClassVar[str] = "columns of σ"
    direction_symbol: ClassVar[str] = "σeᵢ"

    @property
    def symbol(self) -> str:
        return f"½σσᵀ:∇²{self.mark}"

    def count(self, point: Point) -> int:
        value = self._value(point)
        return value.shape[1] if _is_matrix(value) else self.dimension(point)

    def take(self, point: Point, index: TermNumbers | None) -> Block:
        value = self._value(point)
        if isinstance(value, SparseColumns):
            rows = self.sparse_rows(value, point, index)
        elif _is_matrix(value):
            columns = value.T if index is None else value.T[index]
            rows = self.embed(columns, point)
        elif callable(value):
            unit = self.unit_rows(point, index)
            rows = self.embed(apply_rows(_product(value), unit), point)
        else:
            positions = self.positions(point, index)
            entries = jnp.broadcast_to(value, (self.dimension(point),))
            entries = entries if index is None else entries[index]
            rows = Sparse(positions[:, None], entries[:, None])
        n = rows.array.shape[0] if isinstance(rows, Dense) else rows.positions.shape[0]
        return Block(np.full(n, 0.5), ({self.argnum: rows},), self.exponents)

    def magnitudes(self, point: Point) -> None:
        return None

    def product(self, point: Point) -> Callable[[Array], Array]:
        return _product(self._value(point))

    def probe_space(self, point: Point) -> int:
        return self.count(point)

    def probe(self, point: Point, directions: SubRows) -> Block:
        products = apply_rows(_product(self._value(point)), directions)
        rows = self.embed(products, point)
        return Block(np.full(directions.shape[0], 0.5), ({self.argnum: rows},), self.exponents)

    def _value(self, point: Point) -> Any:
        value, size = self._resolved(point, "sigma of ParabolicTrace"), self.dimension(point)
        if not callable(value) and not (value.ndim == 2 and value.shape[0] == size):
            expect_shape(value, ((), (size,), (size, size)), "sigma of ParabolicTrace")
        return value


def _is_matrix(value: Any) -> bool:
    return not callable(value) and value.ndim == 2


def _product(value: Any) -> Callable[[Array], Array]:
    """A field's value as a matrix-vector product."""
    if isinstance(value, SparseColumns):
        return value.mv
    if callable(value):
        product: Callable[..., Any] = value
        return product
    if value.ndim <= 1:
        return lambda v: value.astype(v.dtype) * v
    return lambda v: value.astype(v.dtype) @ v

"""Terms with coefficient fields: first-order forms, quadratic forms and their square roots."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..array_types import RowArray, SubRows, TermNumbers
from .directions import Rows, basis_directions, count
from .fields import (
    Field,
    SparseColumns,
    apply_rows,
    expect_shape,
    field_at,
    is_constant,
    product_with_matrix,
    resolve,
    resolve_vector,
)
from .low_rank import LowRank
from .point import Point
from .terms import Located, ProbedTerms, Terms
from .weighted_jets import WeightedJets, added_up, terms_along

Multiply: TypeAlias = Callable[[Array], Array]
"""The product of a matrix with a vector."""


@final
class LinearForm(Located, Terms):
    """b·∇, one term."""

    field: Field
    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = 0
    number: ClassVar[int] = 1

    @property
    def constant(self) -> bool:
        return is_constant(self.field)

    @property
    def symbol(self) -> str:
        return f"b·∇{self.mark}"

    def count(self, point: Point) -> int:
        self.dimension(point)
        return 1

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        b = resolve_vector(self.field, point, self.argnum, "b of Directional")
        expect_shape(b, ((self.dimension(point),),), "b of Directional")
        rows = self.embed(b[None], point)
        return terms_along([{self.argnum: rows}], np.ones(1), self.exponents)


@final
class FirstOrderSum(Terms):
    """Σ_j c_j D_j for factors D_j of order one, in any arguments, and numbers c_j: the derivative
    along one direction, so one term.
    """

    numbers: tuple[Any, ...]
    factors: tuple[Terms, ...]
    exponents: ClassVar[tuple[int, ...]] = (1,)
    rank: ClassVar[int] = 0
    number: ClassVar[int] = 1
    constant: ClassVar[bool] = False

    @property
    def symbol(self) -> str:
        return " + ".join(f"c {factor.symbol}" for factor in self.factors)

    def count(self, point: Point) -> int:
        for factor in self.factors:
            factor.count(point)
        return 1

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        parts = [factor.take(point, None) for factor in self.factors]
        return added_up(list(zip(self.numbers, parts, strict=True)), point)


class QuadraticTerms(ProbedTerms):
    """The base class of second-order factors with a field, for which isotropic directions serve."""

    field: Field
    rank: ClassVar[int] = 0
    number: ClassVar[None] = None

    @property
    def constant(self) -> bool:
        return is_constant(self.field)

    @abstractmethod
    def split(self, point: Point) -> tuple[Multiply, Multiply]:
        """C = L S Lᵀ at a point as the products z ↦ Lz and z ↦ Sz: with H for the Hessian,
        C:H = tr(LᵀHL S).
        """

    def pairs(self, point: Point, directions: RowArray, products: RowArray) -> WeightedJets:
        """v·D²u·Cv for isotropic v.

        E[v (Cv)ᵀ] = Cᵀ, so the expectation is Σ C_ij ∂_i∂_j for every square C, even if it is
        indefinite or not symmetric. It needs no eigenvectors, and is linear in C.
        """
        slots = [{self.argnum: self.embed(rows, point)} for rows in (directions, products)]
        return terms_along(slots, np.ones(directions.shape[0]), (1, 1))

    def columns(self, value: Any, point: Point, index: Any) -> Rows:
        """The columns of a field's value, or some of them by number, as directions."""
        if isinstance(value, SparseColumns):
            positions, values = value.positions, value.values
            if index is not None:
                positions, values = jnp.asarray(positions)[index], values[index]
            places = self.positions(point, positions.reshape(-1)).reshape(positions.shape)
            return Rows(values, places)
        size, dtype = self.dimension(point), point.dtype(self.argnum)
        if callable(value):
            numbers = np.arange(size, dtype=np.int32) if index is None else index
            unit = basis_directions(self.argnum, numbers)[self.argnum]
            return self.embed(apply_rows(value, unit.dense(size, dtype)), point)
        if value.ndim == 2:
            return self.embed(value.T if index is None else value.T[index], point)
        entries = jnp.broadcast_to(value, (size,))
        entries = entries if index is None else entries[index]
        return Rows(entries[:, None], self.positions(point, index)[:, None])


@final
class MatrixForm(QuadraticTerms):
    """Σ_ij C_ij ∂_i∂_j: the terms C_i ∂_i² for a diagonal C, otherwise the d terms ∂_i (C e_i·∇).
    If the entries of C are known, samples draw entries.
    """

    equal: bool = eqx.field(static=True, default=False)
    """Whether it is a known diagonal of one magnitude, which is drawn without replacement."""
    name: str = eqx.field(static=True, default="C of SecondOrder", compare=False)
    """The user's name for C."""

    @property
    def entries(self) -> Any:
        """C, or its diagonal, if it is an array that is the same at every point; otherwise None."""
        return self.field if isinstance(self.field, jax.Array | np.ndarray) else None

    @property
    def is_diagonal(self) -> bool:
        return self.entries is not None and self.entries.ndim == 1

    @property
    def exponents(self) -> tuple[int, ...]:
        return (2,) if self.is_diagonal else (1, 1)

    @property
    def symbol(self) -> str:
        return ("Σᵢcᵢ∂ᵢ²" if self.is_diagonal else "C:∇²") + self.mark

    def count(self, point: Point) -> int:
        """The number of rows: this many jets are the whole operator."""
        size = self.dimension(point)
        if self.entries is not None:
            expect_shape(self.entries, ((size,) * self.entries.ndim,), self.name)
        return size

    def numbered(self, point: Point) -> int:
        size = self.dimension(point)
        return size if self.entries is None or self.is_diagonal else size**2

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        """By rows if there are no entries to draw. Otherwise by entries, numbered row by row, with
        both orders of a pair.
        """
        value = self._value(point)
        if getattr(value, "ndim", 0) == 1:
            return self.along_basis(point, index, 2, value if index is None else value[index])
        if self.entries is not None:
            value = _symmetric(value.astype(point.dtype(self.argnum)))
            if index is not None:
                numbers = jnp.divmod(index, value.shape[0])
                slots = [basis_directions(self.argnum, self.positions(point, i)) for i in numbers]
                return terms_along(slots, value[numbers], (1, 1))
            columns = self.embed(value, point)
        else:
            columns = self.columns(value, point, index)
        slot = basis_directions(self.argnum, self.positions(point, index))
        return terms_along([slot, {self.argnum: columns}], np.ones(count(slot)), (1, 1))

    def whole(self, point: Point) -> WeightedJets:
        """By basis vectors that meet through C: d directions and a contraction with a d × d matrix,
        where pairs are 2d directions. Pairs are kept for a sparse C, whose directions are sparse,
        for a complex C, and for arguments that are divided over a mesh. A C of low rank has a term
        for each of its columns.
        """
        if not self.constant and isinstance(low := field_at(point, self.field, self.name), LowRank):
            name, columns = f"factors of {self.name}", low.factors
            return FactoredForm(self.argnum, self.dims, columns, name, low.weights).whole(point)
        value = self._value(point)
        size, dtype = self.dimension(point), point.dtype(self.argnum)
        if callable(value):
            value = apply_rows(value, jnp.eye(size, dtype=dtype))
        real = isinstance(value, jax.Array) and not jnp.iscomplexobj(value)
        if not real or value.ndim != 2 or point.is_divided(self.argnum):
            return self.take(point, None)
        slot = basis_directions(self.argnum, self.positions(point))
        matrix = value.astype(jnp.finfo(dtype).dtype)  # real, also if the point is complex
        return WeightedJets({(1,): slot}, np.ones(size), (2,), (None,), matrix=matrix)

    def magnitudes(self, point: Point) -> Array | None:
        self.count(point)
        if self.entries is None or self.equal:
            return None
        entries = jnp.asarray(self.entries)
        return jnp.abs(entries if entries.ndim == 1 else jnp.ravel(_symmetric(entries)))

    def split(self, point: Point) -> tuple[Multiply, Multiply]:
        return by_identity, product_with_matrix(self._value(point))

    def probe(self, point: Point, directions: SubRows) -> WeightedJets:
        products = apply_rows(self._value(point), directions)
        return self.pairs(point, directions, products.astype(directions.dtype))

    def matrix(self, point: Point) -> Array:
        """C, in the coordinates acted on."""
        value = self._value(point)
        if isinstance(value, SparseColumns):
            return value.matrix()
        if callable(value):
            raise ValueError(
                f"shifted probes need the entries of {self.name}, and here that is known by its "
                'products alone; use probes="rademacher", which has the same expectation.'
            )
        return jnp.diag(value) if value.ndim == 1 else value

    def _value(self, point: Point) -> Any:
        size = self.count(point)
        value = resolve(self.field, point, self.argnum, self.name)
        if not callable(value):
            expect_shape(value, ((size,), (size, size)), self.name)
        return value


def by_identity(z: Array) -> Array:
    """The product with the identity."""
    return z


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


@final
class FactoredForm(QuadraticTerms):
    """Σ_r s_r (F e_r·∇)², that is F diag(s) Fᵀ : ∇²: one term for each column of the factor F.
    Without weights s, every s_r is ½: then F is σ in ½ tr(σσᵀ Hess).
    """

    name: str = eqx.field(static=True, compare=False)
    """The user's name for F."""
    weights: Array | None = None
    exponents: ClassVar[tuple[int, ...]] = (2,)

    @property
    def symbol(self) -> str:
        return ("½σσᵀ:∇²" if self.weights is None else "Σᵣsᵣ(fᵣ·∇)²") + self.mark

    def count(self, point: Point) -> int:
        value = self._value(point)
        return value.shape[1] if getattr(value, "ndim", 0) == 2 else self.dimension(point)

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        slot = {self.argnum: self.columns(self._value(point), point, index)}
        if self.weights is None:
            return terms_along([slot], np.full(count(slot), 0.5), self.exponents)
        weights = self.weights if index is None else self.weights[index]
        return terms_along([slot], weights, self.exponents)

    def magnitudes(self, point: Point) -> Array | None:
        """|s_r| |F e_r|², the size of a term's matrix."""
        if self.weights is None:
            return None
        sizes = jnp.sum(self._value(point) ** 2, axis=0)
        return jnp.abs(self.weights).astype(sizes.dtype) * sizes

    def split(self, point: Point) -> tuple[Multiply, Multiply]:
        return product_with_matrix(self._value(point)), self._weighted

    def probe(self, point: Point, directions: SubRows) -> WeightedJets:
        """For isotropic z the pair of Fz and F(s z), since F E[z zᵀ] diag(s) Fᵀ = F diag(s) Fᵀ. It
        is a polynomial in F and s, so its gradient is finite at s_r = 0. Equal numbers are weights.
        """
        value = self._value(point)
        rows = apply_rows(value, directions)
        if self.weights is not None:
            return self.pairs(point, rows, apply_rows(value, self._weighted(directions)))
        slot = {self.argnum: self.embed(rows, point)}
        return terms_along([slot], np.full(directions.shape[0], 0.5), self.exponents)

    def _weighted(self, z: Array) -> Array:
        """s z, for one vector or for rows."""
        if self.weights is None:
            return z / 2
        return z * jnp.broadcast_to(self.weights.astype(z.dtype), z.shape)

    def _value(self, point: Point) -> Any:
        size = self.dimension(point)
        value = resolve(self.field, point, self.argnum, self.name)
        if callable(value) or (value.ndim == 2 and value.shape[0] == size):
            return value
        shapes = ((), (size,), (size, size))
        if self.weights is not None:
            shapes = ((size, *self.weights.shape),)
        expect_shape(value, shapes, self.name)
        return value

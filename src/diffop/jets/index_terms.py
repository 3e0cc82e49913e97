"""Terms named by coordinates: sums of pure powers, single mixed derivatives, and lists of them."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..array_types import SubRows, TermNumbers, TermPositions
from ..held import KnownArray, array_of
from ..notation import superscript, variable_symbol
from .arranged_terms import ArrangedTerms, Derivative, mixed
from .directions import basis_directions
from .fields import Field, Number, is_constant, resolve
from .identity import held_if_known
from .point import Point
from .terms import TRACE, ProbedTerms, Target, Terms
from .weighted_jets import WeightedJets, terms_along

INDICES = "ᵢⱼₖₗₘₙₒₚₛₜ"


@final
class PowerSum(ProbedTerms):
    """Σ_{i ∈ dims} ∂_i^k: the Laplacian for k = 2."""

    power: int = eqx.field(static=True)
    rank: ClassVar[int] = 0
    constant: ClassVar[bool] = True

    @property
    def exponents(self) -> tuple[int, ...]:
        return (self.power,)

    @property
    def symbol(self) -> str:
        return ("Δ" if self.power == 2 else f"Σᵢ∂ᵢ{superscript(self.power)}") + self.mark

    @property
    def number(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        return self.along_basis(point, index, self.power)

    def target(self, power: int) -> Target | None:
        if self.power == 2:
            return TRACE if power == 1 else Target("laplacian", 2 * power)
        return Target("diagonal", self.power) if power == 1 else None

    def probe(self, point: Point, directions: SubRows) -> WeightedJets:
        return self.along_rows(directions, point, self.power)


@final
class Monomial(Terms, ArrangedTerms):
    """One mixed derivative ∂^α, possibly across arguments: one term."""

    alpha: Derivative = eqx.field(static=True)
    scalars: frozenset[int] = eqx.field(static=True, default=frozenset())
    """Arguments whose coordinate was not named, so they must have only one."""
    full: frozenset[tuple[int, int]] = eqx.field(static=True, default=frozenset())
    """(argnum, number of coordinates) for arguments whose multi-index names all coordinates."""
    rank: ClassVar[int] = 0
    number: ClassVar[int] = 1

    @property
    def exponents(self) -> tuple[int, ...]:
        return tuple(order for _, order in self.alpha)

    @property
    def symbol(self) -> str:
        return "".join(variable_symbol(place, k) for place, k in self.alpha)

    def count(self, point: Point) -> int:
        for argnum, named in self.full:
            if (size := point.size(argnum, self)) != named:
                raise ValueError(
                    f"a multi-index has an order for each coordinate, got one of {named} for "
                    f"argument {argnum}, which has {size}; give it {size}, or name the coordinates "
                    "that occur: Mixed({0: 2, 1: 1})."
                )
        for (argnum, i), _ in self.alpha:
            point.coordinates(argnum, (i,), self)
        for argnum in self.scalars:
            if (size := point.size(argnum, self)) > 1:
                raise ValueError(
                    "Partial without a coordinate is the derivative with respect to a scalar "
                    f"argument; got argument {argnum}, which has {size} coordinates: say which "
                    f"one, Partial(i, argnum={argnum}), or map over points, jax.vmap(L.exact(u))."
                )
        return 1

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        self.count(point)
        slots = [basis_directions(argnum, np.array([i])) for (argnum, i), _ in self.alpha]
        return terms_along(slots, np.ones(1), self.exponents)

    def derivatives(self, point: Point) -> tuple[Derivative, ...]:
        self.count(point)
        return (self.alpha,)

    def arrange(self, values: Sequence[PyTree], point: Point) -> PyTree:
        return values[0]


def _held_if_numbers(field: Field) -> Any:
    """Python numbers, which are a NumPy array here, as part of the structure."""
    return KnownArray(field) if isinstance(field, np.ndarray) else field


@final
class CoordinateTerms(Terms):
    """Σ_r c_r Π_j ∂_{i_rj}^{p_j}: many mixed derivatives with one pattern of exponents."""

    argnums: tuple[int, ...] = eqx.field(static=True)
    pattern: tuple[int, ...] = eqx.field(static=True)
    held_positions: Any = eqx.field(converter=held_if_known)
    held_field: Any = eqx.field(converter=_held_if_numbers)
    rows: KnownArray | None = eqx.field(static=True)
    equal: bool = eqx.field(static=True)
    """Whether all coefficients have one magnitude; they are then drawn without replacement."""
    bound: tuple[int, ...] = eqx.field(static=True)
    """The largest coordinate in each slot."""
    rank: ClassVar[int] = 0

    @property
    def field(self) -> Any:
        """The coefficients: NumPy arrays for Python numbers, which are not leaves; or one number
        for all terms; or a function of the point that returns the coefficients of several patterns,
        of which `rows` belong to this one.
        """
        return array_of(self.held_field)

    @property
    def positions(self) -> TermPositions:
        """The coordinate of each slot of each term: a leaf only if it is traced."""
        return array_of(self.held_positions)

    @property
    def constant(self) -> bool:
        return is_constant(self.field)

    @property
    def exponents(self) -> tuple[int, ...]:
        return self.pattern

    @property
    def number(self) -> int:
        return self.positions.shape[0]

    @property
    def symbol(self) -> str:
        powers = "".join(
            f"∂{letter}{superscript(p)}" for letter, p in zip(INDICES, self.exponents, strict=False)
        )
        return f"Σ{self.number} c{powers}"

    def count(self, point: Point) -> int:
        for argnum, largest in zip(self.argnums, self.bound, strict=True):
            point.coordinates(argnum, (largest,), "TensorOperator")
        return self.number

    @property
    def alphas(self) -> list[Derivative]:
        """The derivative that each term is, if positions are known."""

        def alpha(row: list[int]) -> Derivative:
            places = zip(self.argnums, row, strict=True)
            return reduce(mixed, [(each,) for each in zip(places, self.exponents, strict=True)])

        return [alpha(row) for row in np.asarray(self.positions).tolist()]

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        self.count(point)
        positions = self.positions if index is None else jnp.asarray(self.positions)[index]
        coefficients = self._coefficients(point)
        coefficients = coefficients if index is None else jnp.asarray(coefficients)[index]
        slots = [basis_directions(argnum, positions[:, j]) for j, argnum in enumerate(self.argnums)]
        return terms_along(slots, coefficients, self.exponents)

    def magnitudes(self, point: Point) -> Array | None:
        return None if self.equal or not self.constant else jnp.abs(jnp.asarray(self.field))

    def _coefficients(self, point: Point) -> Array | np.ndarray:
        if isinstance(self.field, Number):
            return np.full(self.number, self.field.value)
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
    """∂_i^k for a traced i, which is taken to be in range."""
    return CoordinateTerms((argnum,), (order,), i.reshape(1, 1), Number(1.0), None, True, (0,))

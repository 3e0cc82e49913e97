"""Coefficient matrices of low rank, and the second-order factor that they make."""

from typing import Any, ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from ..array_types import FactorColumns, FactorWeights, SubRows, TermNumbers, Vector
from .field_terms import Multiply, QuadraticTerms
from .fields import as_floating
from .point import Point
from .weighted_jets import WeightedJets, terms_along


@final
class LowRank(eqx.Module):
    """The matrix $F diag(s) Fᵀ = Σ_r s_r f_r f_rᵀ$, never formed: a coefficient of
    [`diffop.SecondOrder`][] that costs r jets instead of d.

    **Arguments:**

    - `factors`: F, of shape `(d, r)`.
    - `weights`: s, of shape `(r,)`, of any sign; ones by default.

    **Raises:** `ValueError` for factors that are not a matrix, or weights that do not fit them;
    `TypeError` for anything but a real array.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        C = do.operators.LowRank(jnp.ones((1000, 1)))  # every entry is 1
        do.SecondOrder(C).exact(lambda x: jnp.sum(x) ** 2)(jnp.zeros(1000))  # 2 · 1000² = 2000000
        ```
    """

    factors: FactorColumns
    weights: FactorWeights

    def __init__(self, factors: Any, weights: Any = None) -> None:
        columns = _real(factors, "factors of LowRank", "a matrix (d, r)")
        if columns.ndim != 2:
            raise ValueError(
                f"factors of LowRank must be a matrix (d, r), one column for each term; got shape "
                f"{columns.shape}. A single vector f is f[:, None]."
            )
        rank = columns.shape[1]
        if weights is None:
            weights = jnp.ones(rank, columns.dtype)
        s = _real(weights, "weights of LowRank", "a vector (r,)")
        if s.shape != (rank,):
            raise ValueError(
                f"weights of LowRank must have shape {(rank,)}, one for each column of factors; "
                f"got {s.shape}."
            )
        self.factors, self.weights = columns, s

    def mv(self, v: Vector) -> Vector:
        """The product with a vector, in $O(d r)$."""
        factors, weights = self.factors.astype(v.dtype), self.weights.astype(v.dtype)
        return factors @ (weights * (factors.T @ v))


def _real(values: Any, name: str, form: str) -> Array:
    try:
        array = jnp.asarray(values)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be {form}; got {type(values).__name__}.") from error
    return as_floating(array, name)


@final
class LowRankForm(QuadraticTerms):
    """Σ_r s_r (f_r·∇)²: one term for each column of the factors.

    Densely, with z isotropic in R^r, it uses the pair of Fz and F(s z): (Fz·∇)(F(s z)·∇) has the
    expectation F E[z zᵀ] diag(s) Fᵀ : ∇² = F diag(s) Fᵀ : ∇². This is a polynomial in F and s, so
    its gradient is finite at s_r = 0.
    """

    field: LowRank
    exponents: ClassVar[tuple[int, ...]] = (2,)

    @property
    def symbol(self) -> str:
        return f"Σᵣsᵣ(fᵣ·∇)²{self.mark}"

    def count(self, point: Point) -> int:
        size, shape = self.dimension(point), self.field.factors.shape
        if shape[0] != size:
            raise ValueError(
                f"factors of LowRank must have {size} rows at this point, one for each coordinate; "
                f"got shape {shape}."
            )
        return shape[1]

    def take(self, point: Point, index: TermNumbers | None) -> WeightedJets:
        self.count(point)
        columns, weights = self.field.factors.T, self.field.weights
        if index is not None:
            columns, weights = columns[index], weights[index]
        return terms_along([{self.argnum: self.embed(columns, point)}], weights, self.exponents)

    def magnitudes(self, point: Point) -> Array:
        """|s_r| |f_r|², the size of a term's matrix."""
        return jnp.abs(self.field.weights).astype(self.field.factors.dtype) * jnp.sum(
            self.field.factors**2, axis=0
        )

    def split(self, point: Point) -> tuple[Multiply, Multiply]:
        self.count(point)
        factors, weights = self.field.factors, self.field.weights
        return lambda z: factors.astype(z.dtype) @ z, lambda z: weights.astype(z.dtype) * z

    def probe(self, point: Point, directions: SubRows) -> WeightedJets:
        rows = self.field.factors.T.astype(directions.dtype)
        scaled = directions * self.field.weights.astype(directions.dtype)[None, :]
        return self.pairs(point, directions @ rows, scaled @ rows)

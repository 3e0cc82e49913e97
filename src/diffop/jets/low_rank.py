"""Coefficient matrices of low rank."""

from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from ..array_types import FactorColumns, FactorWeights, Vector
from .fields import as_floating


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

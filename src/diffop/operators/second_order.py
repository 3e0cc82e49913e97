"""Second-order operators with a coefficient matrix or its square root."""

from typing import Any, final

import equinox as eqx
import jax

from ..jets.field_terms import FactoredForm, MatrixForm
from ..jets.fields import Field
from ..jets.low_rank import LowRank
from ..jets.terms import Terms
from ..terms.arguments import checked_argnum, checked_dims, checked_field, equal_magnitudes
from ..terms.term import Term, factor_term
from .differential import DifferentialOperator


@final
class SecondOrder(DifferentialOperator):
    """$Σ_ij C_ij ∂_i∂_j$.

    **Arguments:**

    - `C`: any square matrix (only its symmetric part matters), a vector for a diagonal one, a
        sparse matrix ([`diffop.operators.SparseColumns`][] or a constant
        `jax.experimental.sparse.BCOO`), a [`diffop.operators.LowRank`][], a callable C(*args) that
        returns one of these or a matrix-vector product, a [`diffop.operators.MatVec`][], or
        anything with a method `mv`, such as a `lineax` linear operator.
    - `argnum`, `dims`: which argument, and which of its coordinates C refers to.

    Estimated sparsely, entries are drawn with $p ∝ |C_ij|$ (rows, if C is sparse or varies with the
    point; columns $f_r$ of a LowRank, with $p ∝ |s_r| |f_r|²$). Estimated densely, pairs v and Cv
    are drawn (one jet with two parameters, $D²u(v, Cv)$), which is correct for indefinite C and
    needs no eigenvectors. The paper uses a shifted eigen-decomposition (section on dense jets).

    **Raises:** `ValueError` for a C that is not square, or does not fit the point.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        wave = do.SecondOrder(jnp.array([1.0, -1.0]))
        wave.exact(lambda x: jnp.sin(x[0] + x[1]))(jnp.ones(2))  # 0.0
        ```
    """

    C: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    equal: bool = eqx.field(static=True)

    def __init__(self, C: Any, *, argnum: int = 0, dims: tuple[int, ...] | None = None) -> None:
        forms = "a square matrix, a vector (its diagonal), a callable of the point or a MatVec"
        self.C = checked_field(C, "C of SecondOrder", (1, 2), forms)
        if isinstance(self.C, jax.Array) and self.C.ndim == 2 and len(set(self.C.shape)) != 1:
            raise ValueError(f"C of SecondOrder must be {forms}; got shape {self.C.shape}.")
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)
        self.equal = is_equal_diagonal(self.C)

    def terms(self) -> tuple[Term, ...]:
        form = quadratic_form(self.C, self.argnum, self.dims, self.equal, "C of SecondOrder")
        return (factor_term(form),)


def is_equal_diagonal(C: Field) -> bool:
    return isinstance(C, jax.Array) and C.ndim == 1 and equal_magnitudes(C)


def quadratic_form(
    C: Field, argnum: int, dims: tuple[int, ...] | None, equal: bool, name: str
) -> Terms:
    """Σ_ij C_ij ∂_i∂_j for a C in any form. `name` is for errors; `equal` says that the entries of
    a vector have one magnitude.
    """
    if isinstance(C, LowRank):
        return FactoredForm(argnum, dims, C.factors, "factors of LowRank", C.weights)
    return MatrixForm(argnum, dims, C, equal, name)


@final
class ParabolicTrace(DifferentialOperator):
    """$½ tr(σσᵀ Hess u)$, the second-order part of a parabolic equation.

    **Arguments:**

    - `sigma`: $σ$: a matrix (d, d'), a vector for a diagonal one, a scalar, a sparse matrix
        ([`diffop.operators.SparseColumns`][] or a constant `jax.experimental.sparse.BCOO`, whose
        columns stay sparse directions), a callable sigma(*args) that returns one of these or a
        matrix-vector product, a [`diffop.operators.MatVec`][], or anything with a method `mv`, such
        as a `lineax` linear operator.
    - `argnum`, `dims`: which argument, and which of its coordinates $σ$ refers to.

    One jet for each column of $σ$: $½ Σ_i (σe_i·∇)²$ (STDE, section on second-order parabolic
    PDEs).

    **Raises:** `ValueError` for a sigma that does not fit the point.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        black_scholes = do.ParabolicTrace(lambda x: 0.4 * x)
        black_scholes.exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # 0.48
        ```
    """

    sigma: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(self, sigma: Any, *, argnum: int = 0, dims: tuple[int, ...] | None = None) -> None:
        forms = "a matrix, a vector (its diagonal), a scalar, a callable of the point or a MatVec"
        self.sigma = checked_field(sigma, "sigma of ParabolicTrace", (0, 1, 2), forms)
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)

    def terms(self) -> tuple[Term, ...]:
        form = FactoredForm(self.argnum, self.dims, self.sigma, "sigma of ParabolicTrace")
        return (factor_term(form),)

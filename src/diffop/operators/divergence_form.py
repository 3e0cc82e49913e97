"""Operators in divergence form: diffusion with a coefficient inside the divergence."""

from typing import Any, final

import equinox as eqx
import jax

from ..jets.fields import Field, Number, is_constant, is_matvec
from ..jets.index_terms import PowerSum
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from ..terms.arguments import checked_argnum, checked_dims, checked_field
from ..terms.term import Term, compose, factor_term
from .differential import DifferentialOperator
from .second_order import is_equal_diagonal, quadratic_form


@final
class DivergenceForm(DifferentialOperator):
    """$∇·(a∇u)$ of a scalar u: diffusion with a coefficient that may vary.

    **Arguments:**

    - `a`: a number, a 0-d array, a vector (a diagonal matrix), a square matrix, a
        [`diffop.operators.LowRank`][], a [`diffop.operators.MatVec`][], or anything with a method
        `mv` such as a `lineax` linear operator; or a callable a(*args) that returns a scalar, a
        vector, a square matrix or a matrix-vector product.
    - `argnum`, `dims`: which argument, and which of its coordinates a refers to.

    For a constant a the operator is a $Δ$ or `SecondOrder(a)`. For a callable it is $div (a∇u)$:
    the flux $a∇u$ in reverse mode, its divergence by d first-order jets or by n draws of them. If
    the callable returns a scalar, the product rule gives $a(x) Δu + ∇a·∇u$: the jets of the
    Laplacian and one more.

    An estimate is unbiased, since only the divergence is sampled and never the flux inside it.

    **Raises:** `ValueError` for an a that is not square, or does not fit the point.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        diffusion = do.DivergenceForm(lambda x: 1 + jnp.sum(x**2))
        diffusion.exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # 4 · 6 + 2 · 2 · 3 = 36
        ```
    """

    a: Field
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)
    equal: bool = eqx.field(static=True)

    def __init__(self, a: Any, *, argnum: int = 0, dims: tuple[int, ...] | None = None) -> None:
        forms = (
            "a number, a vector (its diagonal), a square matrix, a callable of the point, "
            "a LowRank or a MatVec"
        )
        self.a = checked_field(a, "a of DivergenceForm", (0, 1, 2), forms)
        if isinstance(self.a, jax.Array) and self.a.ndim == 2 and len(set(self.a.shape)) != 1:
            raise ValueError(f"a of DivergenceForm must be {forms}; got shape {self.a.shape}.")
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)
        self.equal = is_equal_diagonal(self.a)

    def terms(self) -> tuple[Term, ...]:
        if not is_constant(self.a):
            outer = factor_term(DivergenceTerms(self.argnum, self.dims))
            flux = GradientTerms(self.argnum, self.dims, self.a, transposed=False)
            return (compose(outer, factor_term(flux)),)
        if isinstance(self.a, Number) or (not is_matvec(self.a) and self.a.ndim == 0):
            laplacian = factor_term(PowerSum(self.argnum, self.dims, 2))
            return (Term(self.a, laplacian.word),)
        form = quadratic_form(self.a, self.argnum, self.dims, self.equal, "a of DivergenceForm")
        return (factor_term(form),)

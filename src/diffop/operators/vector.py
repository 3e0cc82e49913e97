"""Operators that change the shape of the output: gradient and divergence."""

from typing import Any, final

import equinox as eqx

from ..jets.fields import Field
from ..jets.vector_terms import DivergenceTerms, GradientTerms
from .arguments import checked_argnum, checked_dims, checked_field
from .base import DifferentialOperator
from .term import Term, factor_term


@final
class Gradient(DifferentialOperator):
    """∇u, or σᵀ∇u: in reverse mode, since d derivatives cost as much as one there.

    **Arguments:**

    - `sigma`: σ: a matrix (d, d'), a vector for a diagonal one, a scalar, a callable sigma(*args),
        or a matrix known by its products ([`diffop.MatVec`][]). None for ∇u itself.
    - `argnum`, `dims`: which argument, and which of its coordinates.

    **Returns** (when applied): without sigma and dims, like the argument, as `jax.grad` does;
    otherwise a vector. For a u that is not scalar, behind u's own axes.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Gradient().exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # [2, 2, 2]
        ```
    """

    sigma: Field | None
    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(
        self, sigma: Any = None, *, argnum: int = 0, dims: tuple[int, ...] | None = None
    ) -> None:
        forms = "a matrix, a vector (its diagonal), a scalar, a callable of the point or a MatVec"
        self.sigma = (
            None if sigma is None else checked_field(sigma, "sigma of Gradient", (0, 1, 2), forms)
        )
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(GradientTerms(self.argnum, self.dims, self.sigma)),)


@final
class Divergence(DifferentialOperator):
    """Σ_i ∂_i u_i of a vector-valued u.

    **Arguments:**

    - `argnum`, `dims`: which argument, and which of its coordinates to sum over. u returns one
        value for each coordinate of the argument (or for each of `dims`), as an array or a pytree
        like the argument.

    Exact: d first-order jets. Estimated: n of the d terms, or dense vᵀ(∂u)v.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Divergence().exact(lambda x: x**2)(jnp.ones(3))  # 6.0
        ```
    """

    argnum: int = eqx.field(static=True)
    dims: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(self, *, argnum: int = 0, dims: tuple[int, ...] | None = None) -> None:
        self.argnum = checked_argnum(argnum)
        self.dims = checked_dims(dims)

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(DivergenceTerms(self.argnum, self.dims)),)

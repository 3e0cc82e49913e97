"""Sums over coordinates: Δ, Δ^m and Σ_i ∂_i^k."""

from functools import partial
from typing import final

import equinox as eqx

from ..jets.index_terms import PowerSum
from ..terms.arguments import checked_order
from ..terms.term import Term, factor_term
from .coordinates import AbstractOfCoordinates


@final
class Laplacian(AbstractOfCoordinates):
    """$Δ = Σ_i ∂_i²$, over all coordinates of one argument or over some of them.

    **Arguments:**

    - `argnum`: which argument of u is differentiated.
    - `dims`: the coordinates to sum over; all by default. This includes time if time is a
        coordinate of the point, so that `Partial(1) - Laplacian()` contains $∂_t²$. The heat
        equation in (x, t) is `Partial(1) - Laplacian(dims=(0,))`.

    Exact: d jets of order two, collapsed (the forward Laplacian). Estimated: n of the coordinates
    without replacement (STDE, equation `eqn:forward-lapl`), or isotropic probes (Hutchinson).

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Laplacian().exact(lambda x: jnp.sum(x**2))(jnp.ones(3))  # 6.0
        ```
    """

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(PowerSum(self.argnum, self.dims, 2)),)


@final
class PolyLaplacian(AbstractOfCoordinates):
    """$Δ^m$.

    **Arguments:**

    - `m`: the power, at least 1.
    - `argnum`, `dims`: as for [`diffop.Laplacian`][].

    Estimated sparsely, a draw is a tuple of m coordinates; for m = 2, {i, j} comes twice as often
    as {i, i}. Gaussian probes have $E[(v·∇)^{2m}] = (2m−1)!! Δ^m$; the sphere has a closed factor
    too.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.PolyLaplacian(2).exact(lambda x: jnp.sum(x**4))(jnp.ones(3))  # 72.0
        ```
    """

    m: int = eqx.field(static=True, converter=partial(checked_order, name="m of PolyLaplacian"))

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(PowerSum(self.argnum, self.dims, 2), self.m),)


@final
class Biharmonic(AbstractOfCoordinates):
    """$Δ²$, the biharmonic operator; see [`diffop.PolyLaplacian`][].

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.Biharmonic().exact(lambda x: (x[0] * x[1]) ** 2)(jnp.ones(2))  # 8.0
        ```
    """

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(PowerSum(self.argnum, self.dims, 2), 2),)


@final
class DiagonalK(AbstractOfCoordinates):
    """$Σ_i ∂_i^k$, the diagonal of the k-th derivative tensor (STDE, section on diagonal
    operators).

    **Arguments:**

    - `k`: the order, at least 1.
    - `argnum`, `dims`: as for [`diffop.Laplacian`][].

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        do.DiagonalK(3).exact(lambda x: jnp.sum(x**3))(jnp.ones(4))  # 24.0
        ```
    """

    k: int = eqx.field(static=True, converter=partial(checked_order, name="k of DiagonalK"))

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(PowerSum(self.argnum, self.dims, self.k)),)

"""Generators of diffusion processes."""

from typing import Any, final

from ..terms.term import Term
from .coordinates import AbstractOfCoordinates
from .differential import DifferentialOperator
from .elementary import Directional
from .second_order import ParabolicTrace


@final
class Generator(AbstractOfCoordinates):
    """$b·∇ + ½ tr(σσᵀ ∇²)$, the generator of the process $dX = b dt + σ dW$. Kolmogorov's backward
    equation is $∂_t u + L u = 0$. The Fokker–Planck equation for the density has `L.adjoint()` on
    its right side.

    **Arguments:**

    - `drift`: b, as for [`diffop.Directional`][].
    - `sigma`: $σ$, as for [`diffop.ParabolicTrace`][].
    - `argnum`, `dims`: which argument, and which of its coordinates they refer to.

    **Raises:** `ValueError`, when it is applied, for a drift or sigma that does not fit the point.

    Source: Risken, The Fokker-Planck equation, 1989.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        L = do.Generator(drift=lambda x: -x, sigma=2**0.5)  # of Ornstein and Uhlenbeck
        density = lambda x: jnp.exp(-jnp.sum(x**2) / 2)
        L.adjoint().exact(density)(jnp.ones(2))  # 0 up to rounding
        ```
    """

    drift: DifferentialOperator
    diffusion: DifferentialOperator

    def __init__(
        self, drift: Any, sigma: Any, *, argnum: int = 0, dims: tuple[int, ...] | None = None
    ) -> None:
        self.drift = Directional(drift, argnum=argnum, dims=dims)
        self.diffusion = ParabolicTrace(sigma, argnum=argnum, dims=dims)
        self.argnum, self.dims = argnum, dims

    def terms(self) -> tuple[Term, ...]:
        return (*self.drift.terms(), *self.diffusion.terms())

"""The Helmholtz equation."""

from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...nn import HardConstraint
from ...operators.elementary import Identity
from ...operators.laplacian import Laplacian
from ...scalars import plain
from ..domains.box import Box
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended


def _bubble(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return (1 - x[0] * x[0]) * (1 - x[1] * x[1])


@final
class Helmholtz(AbstractSolvedProblem):
    """Helmholtz, $Δu + k²u = f$ on the square $[−1, 1]²$, u = 0 on its sides.

    The solution is $sin πx sin 4πy$. The ansatz is $(1 − x²)(1 − y²) net(x, y)$, and the null model
    $(1 − x²)(1 − y²) x y$, which has its symmetry. Source: Wang, Teng and Perdikaris 2021,
    "Understanding and mitigating gradient flow pathologies in physics-informed neural networks".

    **Arguments:**

    - `wavenumber`: k.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.Helmholtz()
        x = jnp.array([0.5, 0.2])
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "helmholtz"
    dim: ClassVar[int] = 2
    domain: ClassVar[Box] = Box((-1.0, -1.0), (1.0, 1.0))
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=250,
        batch=2500,
        width=24,
        depth=2,
        input_scale=2.0,
    )

    wavenumber: int | float = eqx.field(static=True, converter=plain, default=1.0)

    def operators(self) -> PyTree:
        return Laplacian() + self.wavenumber**2 * Identity()

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return (self.wavenumber**2 - 17 * jnp.pi**2) * self.solution(x)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sin(jnp.pi * x[0]) * jnp.sin(4 * jnp.pi * x[1])

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(net, 0.0, _bubble)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return _bubble(x) * x[0] * x[1]

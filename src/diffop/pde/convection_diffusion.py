"""Convection and diffusion, with a layer at the outflow.

For u = X(x) cos πy the equation ∂u/∂x = ε Δu is ε X'' − X' − επ² X = 0, with the exponents
r = (1 ± √(1 + 4π²ε²))/2ε.
"""

import math
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.sampled import AtPoints
from ..operators.elementary import Directional
from ..operators.laplacian import Laplacian
from ..scalars import plain
from .conditions.base import Conditions
from .conditions.prescribed import Dirichlet, Neumann
from .domains.box import Box
from .problem import AbstractSolvedProblem
from .recommended import LEAST_SQUARES, Recommended


@final
class ConvectionDiffusion(AbstractSolvedProblem):
    """Convection-diffusion, $∂u/∂x − ε Δu = 0$ on the unit square, values and fluxes on its faces.

    u is $cos πy$ at the inflow x = 0, and 0 at the outflow x = 1. Nothing passes through the walls
    y = 0 and y = 1. At x = 1 there is a layer of width $ε$. The null model is $(1 − x) cos πy$.

    **Arguments:**

    - `diffusivity`: $ε$, positive.

    **Raises:** `ValueError` if it is not positive.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.ConvectionDiffusion(diffusivity=0.05)
        x = jnp.array([0.5, 0.2])
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "convection-diffusion"
    dim: ClassVar[int] = 2
    domain: ClassVar[Box] = Box((0.0, 0.0), (1.0, 1.0))
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=150,
        batch=300,
        data_batch=50,
        data_weight=10.0,
        width=20,
        depth=2,
    )

    diffusivity: int | float = eqx.field(static=True, converter=plain, default=0.1)

    def __check_init__(self) -> None:
        if not self.diffusivity > 0:
            raise ValueError(f"{self.name} expects a positive diffusivity, got {self.diffusivity}.")

    def operators(self) -> PyTree:
        return Directional(jnp.array([1.0, 0.0])) - self.diffusivity * Laplacian()

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        inlet, outlet, *walls = self.domain.faces
        return Conditions(
            Dirichlet(lambda x: jnp.cos(jnp.pi * x[1]), on=inlet),
            Dirichlet(0.0, on=outlet),
            *(Neumann(0.0, on=wall) for wall in walls),
        )(key, count)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        root = math.hypot(1.0, 2 * math.pi * self.diffusivity)
        fast, slow = ((1 + sign * root) / (2 * self.diffusivity) for sign in (1, -1))
        layer = jnp.exp(fast * (x[0] - 1) + slow)
        return (jnp.exp(slow * x[0]) - layer) / -math.expm1(slow - fast) * jnp.cos(jnp.pi * x[1])

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return (1 - x[0]) * jnp.cos(jnp.pi * x[1])

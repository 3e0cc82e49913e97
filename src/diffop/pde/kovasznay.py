"""Steady flow behind a grid, a solution of the Navier-Stokes equations.

Let ψ = y − e^{λx} sin(2πy)/2π and (u, v) = (∂ψ/∂y, −∂ψ/∂x). The vorticity is ω = −Δψ =
(λ² − 4π²) (y − ψ). The flow carries ψ, so u·∇ω = (λ² − 4π²) v = ∂ω/∂x = λω, while νΔω =
ν (λ² − 4π²) ω. So u·∇ω = νΔω if

    λ = ν (λ² − 4π²),     λ = 1/2ν − √(1/4ν² + 4π²).
"""

import math
from typing import ClassVar, Literal, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.sampled import AtPoints
from ..operators.elementary import Identity, Partial
from ..operators.vector import Component
from ..scalars import plain
from .conditions.base import Conditions
from .conditions.prescribed import Dirichlet
from .domains.box import Box
from .problem import AbstractSolvedProblem
from .recommended import LEAST_SQUARES, Recommended


@final
class Kovasznay(AbstractSolvedProblem):
    """Navier-Stokes, $u·∇u + ∇p = Δu/Re$ and $∇·u = 0$ in the plane, steady flow behind a grid.

    The unknown is (u, v, p). The velocity is given on the whole boundary and the pressure where the
    flow leaves; the solution is

        u = 1 − e^{λx} cos 2πy,   v = (λ/2π) e^{λx} sin 2πy,   p = ½ (1 − e^{2λx}).

    The null model is the flow far away, (1, 0, 0). Source: Kovasznay 1948, "Laminar flow behind a
    two-dimensional grid".

    **Arguments:**

    - `reynolds`: the Reynolds number Re, positive.
    - `domain`: a `diffop.pde.Box` with two coordinates.

    **Raises:** `ValueError` if one of them is out of range.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.Kovasznay()
        x = jnp.array([0.5, 0.2])
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # zeros, up to rounding
        ```
    """

    name: ClassVar[str] = "kovasznay"
    dim: ClassVar[int] = 2
    outputs: ClassVar[int | Literal["scalar"]] = 3
    value_names: ClassVar[tuple[str, ...]] = ("u", "v", "p")
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=250,
        batch=100,
        data_batch=50,
        data_weight=10.0,
        width=64,
        depth=2,
    )

    reynolds: int | float = eqx.field(static=True, converter=plain, default=40.0)
    domain: Box = Box((-0.5, -0.5), (1.0, 1.5))

    def __check_init__(self) -> None:
        if not self.reynolds > 0 or not isinstance(self.domain, Box) or self.domain.dim != 2:
            raise ValueError(
                f"{self.name} expects a positive Reynolds number and a box with 2 coordinates, got "
                f"reynolds={self.reynolds} and domain={self.domain}."
            )

    @property
    def rate(self) -> float:
        """$λ$, negative."""
        half = self.reynolds / 2  # half − √(half² + 4π²), which would cancel
        return -4 * math.pi**2 / (half + math.hypot(half, 2 * math.pi))

    def operators(self) -> PyTree:
        viscous = (Partial(0, 2) + Partial(1, 2)) @ Component((0, 1))
        return {"u": Identity(), "x": Partial(0), "y": Partial(1), "viscous": viscous}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, "3"]:
        u, v, _ = values["u"]
        (u_x, v_x, p_x), (u_y, v_y, p_y) = values["x"], values["y"]
        friction = values["viscous"] / self.reynolds
        return jnp.stack(
            [
                u * u_x + v * u_y + p_x - friction[0],
                u * v_x + v * v_y + p_y - friction[1],
                u_x + v_y,
            ]
        )

    def source(self, x: Float[Array, " dim"]) -> Float[Array, "3"]:
        return jnp.zeros(3, x.dtype)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, "3"]:
        angle, decay = 2 * jnp.pi * x[1], jnp.exp(self.rate * x[0])
        return jnp.stack(
            [
                1 - decay * jnp.cos(angle),
                self.rate / (2 * jnp.pi) * decay * jnp.sin(angle),
                (1 - decay * decay) / 2,
            ]
        )

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        outlet = self.domain.face(0, "upper")
        return Conditions(
            Dirichlet(lambda x: self.solution(x)[:2], on=self.domain.boundary, component=(0, 1)),
            Dirichlet(lambda x: self.solution(x)[2], on=outlet, component=2),
        )(key, count)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, "3"]:
        return jnp.array([1.0, 0.0, 0.0], x.dtype)

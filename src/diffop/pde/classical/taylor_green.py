"""Vortices that decay in place.

The velocity (ψ_y, −ψ_x) of ψ = −cos x cos y a(t) carries the vorticity −Δψ = 2ψ, a multiple of ψ,
along lines where it is constant. So only friction changes it: a' = −2ν a.
"""

import math
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...nn import InitialCondition
from ...operators.elementary import Partial
from ...scalars import is_number, plain
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended
from .evolution import periodic
from .stream_function import LAPLACIAN, carried, carrying


@final
class TaylorGreen(AbstractSolvedProblem):
    """Navier-Stokes, $Δψ_t + ψ_y Δψ_x − ψ_x Δψ_y = ν Δ²ψ$ on $[0, 2π]²$, periodic, decaying
    vortices.

    The unknown is the stream function ψ of a flow without compression, whose velocity is
    $(ψ_y, −ψ_x)$. The solution is $−cos x cos y e^{−2νt}$, four vortices in a square. The equation
    determines ψ up to a function of time, so that ψ = 0 at $z = (π/2, π/2)$ is a choice. The ansatz
    is $−cos x cos y + t (net(x, y, t) − net(z, t))$, with a network of t and the sines and cosines
    of x and y. The null model is the initial value. Source: Taylor and Green 1937, "Mechanism of
    the production of small eddies from large ones".

    **Arguments:**

    - `viscosity`: $ν$, positive.
    - `duration`: the last time, positive.

    **Raises:** `ValueError` if one of them is not positive.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.TaylorGreen(viscosity=0.01)
        x = jnp.array([0.5, 0.2, 0.1])  # x, y and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "taylor-green"
    dim: ClassVar[int] = 3
    inputs: ClassVar[int | None] = 5
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=3,
        steps=100,
        batch=800,
        width=16,
        depth=2,
    )

    viscosity: int | float = eqx.field(static=True, converter=plain, default=0.1)
    duration: int | float = eqx.field(static=True, converter=plain, default=5.0)

    domain: SpaceTime = eqx.field(init=False)

    def __post_init__(self) -> None:
        if not (is_number(self.viscosity) and 0 < self.viscosity < math.inf):
            raise ValueError(
                f"{self.name} expects a finite positive viscosity, got {self.viscosity!r}."
            )
        self.domain = SpaceTime(Box((0.0, 0.0), (2 * math.pi, 2 * math.pi)), self.duration)

    def operators(self) -> PyTree:
        linear = Partial(2) @ LAPLACIAN - self.viscosity * (LAPLACIAN @ LAPLACIAN)
        return {**carrying(), "linear": linear}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["linear"] + carried(values)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def ansatz(self, net: Callable) -> Callable:
        return InitialCondition(_Fixed(periodic(net, self.domain)), self.null_shape)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -jnp.cos(x[0]) * jnp.cos(x[1])

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.null_shape(x) * jnp.exp(-2 * self.viscosity * x[2])


@final
class _Fixed(eqx.Module):
    """A function that is made 0 at the centre of a vortex."""

    net: Callable

    def __call__(self, x: Float[Array, "3"]) -> Float[Array, ""]:
        return self.net(x) - self.net(x.at[:2].set(math.pi / 2))

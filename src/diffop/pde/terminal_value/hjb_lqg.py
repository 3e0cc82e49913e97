"""The Hamilton-Jacobi-Bellman equation of a linear-quadratic-Gaussian control problem."""

from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.laplacian import Laplacian
from ...operators.vector import Gradient
from ...scalars import plain
from ..recommended import MUON, Recommended
from .cole_hopf import log_mean_power
from .problem import AbstractTerminalValue


@final
class HJBLQG(AbstractTerminalValue):
    """Hamilton-Jacobi-Bellman, $u_t + Δu − μ|∇u|² = 0$ with $u(x, T) = log((1 + |x|²)/2)$.

    u is the least mean cost of moving $dX = 2√μ m dt + √2 dW$ by a control m that costs $|m|² dt$,
    plus h at the end. The solution is $−(1/μ) log E[exp(−μ h(x + √2 W_{T−t}))]$, by the Cole-Hopf
    transformation. The mean is computed as an integral over one variable, exact to rounding.
    Everything else is as for `diffop.pde.AbstractTerminalValue`. Sources: Han, Jentzen and E 2018,
    "Solving high-dimensional partial differential equations using deep learning"; the published
    code of Shi et al. 2024, "Stochastic Taylor Derivative Estimator".

    **Arguments:** as for `diffop.pde.AbstractTerminalValue`, and

    - `mu`: $μ$, positive.

    **Raises:** as there, and `ValueError` if `mu` is not positive.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.HJBLQG(100)
        problem.solution(jnp.zeros(101))  # 4.59, at the origin at time 0
        ```
    """

    name: ClassVar[str] = "hjb-lqg"
    # in 100 dimensions the solution falls steeply near the origin, where few points lie
    recommended: ClassVar[Recommended] = MUON(
        dim=10,
        steps=24_000,
        batch=50,
        gpinn=1.0,
    )

    mu: int | float = eqx.field(static=True, converter=plain, default=1.0)

    def __check_init__(self) -> None:
        if not self.mu > 0:
            raise ValueError(f"{self.name} expects a positive mu, got {self.mu}.")

    def operators(self) -> PyTree:
        return {"gradient": Gradient(), "lap": Laplacian(dims=self.space)}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        slopes, u_t = values["gradient"][:-1], values["gradient"][-1]
        return u_t + values["lap"] - self.mu * jnp.sum(slopes * slopes)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def terminal(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        return jnp.log((1 + jnp.sum(x * x)) / 2)

    def scale(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        return jnp.ones((), x.dtype)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -log_mean_power(x[:-1], self.duration - x[-1], self.mu) / self.mu

"""A Hamilton-Jacobi-Bellman equation with a linear solution."""

from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.laplacian import Laplacian
from ...operators.vector import Gradient
from ...scalars import plain
from .problem import AbstractTerminalValue


@final
class HJBLin(AbstractTerminalValue):
    """Hamilton-Jacobi-Bellman, $u_t + Δu − (1/d) Σ_i |∂_i u|^c = −2$ with $u(x, T) = Σ_i x_i$.

    The solution is $Σ_i x_i + T − t$ for every c: the slopes are 1 and $u_t$ is −1. Everything else
    is as for `diffop.pde.AbstractTerminalValue`. Sources: Wang et al. 2022, "Is $L²$
    physics-informed loss always suitable for training physics-informed neural network?"; Hu et al.
    2024, "Tackling the curse of dimensionality with physics-informed neural networks"; the
    published code of Shi et al. 2024, "Stochastic Taylor Derivative Estimator".

    **Arguments:** as for `diffop.pde.AbstractTerminalValue`, and

    - `power`: c, at least 1.

    **Raises:** as there, and `ValueError` if `power` is less than 1.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.HJBLin(10)
        x = problem.sample(jax.random.key(0), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "hjb-lin"
    power: int | float = eqx.field(static=True, converter=plain, default=1)

    def __check_init__(self) -> None:
        if not self.power >= 1:
            raise ValueError(f"{self.name} expects a power of at least 1, got {self.power}.")

    def operators(self) -> PyTree:
        return {"gradient": Gradient(), "lap": Laplacian(dims=self.space)}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        slopes, u_t = values["gradient"][:-1], values["gradient"][-1]
        cost = jnp.mean(jnp.abs(slopes) ** self.power)
        return u_t + values["lap"] - cost - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.full((), -2.0, x.dtype)

    def terminal(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        return jnp.sum(x)

    def scale(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        return jnp.ones((), x.dtype)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sum(x[:-1]) + self.duration - x[-1]

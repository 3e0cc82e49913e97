"""The wave equation."""

from collections.abc import Callable
from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..nn import HardConstraint
from ..operators.elementary import Partial
from ..operators.laplacian import Laplacian
from .problem import AbstractSolvedProblem
from .recommended import LEAST_SQUARES, Recommended
from .sampling.gaussian import gaussian_space_time
from .whole_space import AbstractWholeSpace


@final
class WaveEquation(AbstractWholeSpace, AbstractSolvedProblem):
    """The wave equation, $u_tt = Δu$ in all of space, $u(x, 0) = Σ_i sinh x_i$ and $u_t(x, 0) = 0$.

    The solution is $cosh t Σ_i sinh x_i$. The ansatz $u = Σ_i sinh x_i + t² net(x, t)$ builds in
    both data; the null model is the initial value at all times. Points are normally distributed in
    space and uniform in time; in the unit ball sinh would be the identity, and u linear in x.
    Source: the published code of Shi et al. 2024, "Stochastic Taylor Derivative Estimator".

    **Arguments:**

    - `space_dim`: the dimension d of space, at least 1. Points have d + 1 coordinates.
    - `duration`: the last time, positive.

    **Raises:** `ValueError` if `space_dim` is less than 1 or `duration` is not positive.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.WaveEquation(10)
        x = problem.sample(jax.random.key(0), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "wave"
    # equation and data are sums over coordinates, alike for each, and so is the solution
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=10, steps=100, batch=3000, width=16, depth=2, sharing="sliding"
    )

    def operators(self) -> PyTree:
        return {"u_tt": Partial(self.space_dim, 2), "lap": Laplacian(dims=self.space)}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["u_tt"] - values["lap"]

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.cosh(x[-1]) * jnp.sum(jnp.sinh(x[:-1]))

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return gaussian_space_time(key, count, self.space_dim, self.duration)

    def elapsed(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return x[-1]

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(net, self.null_shape, lambda x: x[-1] * x[-1])

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sum(jnp.sinh(x[:-1]))

"""The Black-Scholes-Barenblatt equation."""

from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.elementary import Directional, Identity, Partial
from ...operators.second_order import ParabolicTrace
from ...scalars import plain
from .problem import AbstractTerminalValue


@final
class BlackScholesBarenblatt(AbstractTerminalValue):
    """Black-Scholes-Barenblatt, $u_t + ½σ² Σ_i x_i² ∂_i²u − r (u − x·∇u) = 0$, $u(x, T) = |x|²$.

    The second-order part is $½ tr(SSᵀ Hess u)$ with $S(x) = σ diag(x)$, a `diffop.ParabolicTrace`,
    and the equation is one operator applied to u. The solution is $e^{(r + σ²)(T − t)} |x|²$: $u_t$
    is $−(r + σ²) u$, the second-order part $σ² u$, and $x·∇u = 2u$.

    The ansatz is $|x|² (1 + (T − t) net)$. Everything else is as for
    `diffop.pde.AbstractTerminalValue`. Sources: Raissi 2018, "Forward-backward stochastic neural
    networks"; the published code of Shi et al. 2024, "Stochastic Taylor Derivative Estimator".

    **Arguments:** as for `diffop.pde.AbstractTerminalValue`, and

    - `sigma`: the volatility $σ$.
    - `rate`: the rate of interest r.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.BlackScholesBarenblatt(10)
        x = problem.sample(jax.random.key(0), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "black-scholes-barenblatt"
    sigma: int | float = eqx.field(static=True, converter=plain, default=0.4)
    rate: int | float = eqx.field(static=True, converter=plain, default=0.05)

    def operators(self) -> PyTree:
        diffusion = ParabolicTrace(lambda x: self.sigma * x[:-1], dims=self.space)
        growth = Directional(lambda x: x[:-1], dims=self.space)
        return Partial(self.space_dim) + diffusion + self.rate * (growth - Identity())

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def terminal(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        return jnp.sum(x * x)

    def scale(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        return self.terminal(x)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        growth = (self.rate + self.sigma**2) * (self.duration - x[-1])
        return jnp.exp(growth) * jnp.sum(x[:-1] * x[:-1])

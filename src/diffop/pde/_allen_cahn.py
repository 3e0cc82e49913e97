"""The Allen-Cahn equation on the unit ball, with the two-body solution."""

from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..nn import ZeroOnUnitSphere
from ..operators.elementary import Identity
from ..operators.laplacian import Laplacian
from ._ball import unit_ball
from ._problem import AbstractProblem
from ._two_body import two_body_sum, two_body_terms


@final
class AllenCahnTwoBody(AbstractProblem):
    """Allen-Cahn, Δu + u − u³ = f on the unit ball, u = 0 on the sphere, two-body solution.

    The solution is u(x) = (1 − |x|²) Σ_i c_i sin(x_i + cos x_{i+1} + x_{i+1} cos x_i) with
    i = 1 … d − 1 and c_i ~ N(0, 1); the source f is computed from it in closed form, in O(d).
    Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "Inseparable and
    effectively high-dimensional PDEs".

    The coordinates of a point of the ball are about 1/√d, so in high dimension the solution is
    nearly a constant times 1 − |x|²: compare errors with those of that null model.

    **Arguments:**

    - `dim`: the number of coordinates d, at least 2.
    - `key`: a key from `jax.random.key`; it determines the coefficients c.

    **Raises:** `ValueError` if `dim` is less than 2.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.AllenCahnTwoBody(10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "allen-cahn-two-body"
    dim: int = eqx.field(static=True)
    coefficients: Float[Array, " terms"]

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        if dim < 2:
            raise ValueError(
                f"allen-cahn-two-body expects a dimension of at least 2, got {dim}; its solution "
                f"couples neighbouring coordinates."
            )
        self.dim = dim
        self.coefficients = jax.random.normal(key, (dim - 1,))

    def operators(self) -> PyTree:
        return {"u": Identity(), "lap": Laplacian()}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = values["u"]
        return values["lap"] + u - u**3 - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        # With w = 1 − |x|² and S the sum, u = wS, ∇w = −2x and Δw = −2d, so
        # Δu = w ΔS + 2 ∇w·∇S + S Δw = w ΔS − 4 x·∇S − 2d S.
        total, radial, laplacian = two_body_terms(self.coefficients, x)
        w = 1 - jnp.sum(x * x)
        u = w * total
        return w * laplacian - 4 * radial - 2 * self.dim * total + u - u**3

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return (1 - jnp.sum(x * x)) * two_body_sum(self.coefficients, x)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return unit_ball(key, count, self.dim)

    def ansatz(self, net: Callable) -> Callable:
        return ZeroOnUnitSphere(net)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return 1 - jnp.sum(x * x)

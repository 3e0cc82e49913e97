"""Semilinear equations on the unit ball that share the two-body solution."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..nn import ZeroOnUnitSphere
from ..operators.elementary import Identity
from ..operators.laplacian import Laplacian
from ._ball import unit_ball
from ._problem import AbstractProblem, Condition, Section
from ._two_body import two_body_sum, two_body_terms


class AbstractTwoBody(AbstractProblem):
    """Δu + g(u) = f on the unit ball, u = 0 on the sphere, with the two-body solution.

    The solution is u(x) = (1 − |x|²) Σ_i c_i sin(x_i + cos x_{i+1} + x_{i+1} cos x_i) with
    i = 1 … d − 1 and c_i ~ N(0, 1); the source f is computed from it in closed form, in O(d).
    Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "Inseparable and
    effectively high-dimensional PDEs".

    The coordinates of a point of the ball are about 1/√d, so in high dimension the solution is
    nearly a constant times 1 − |x|²: compare errors with those of that null model.

    A subclass is final, has a `name`, a dimension `dim` and `coefficients` c of shape `(dim - 1,)`,
    and defines `nonlinearity`, the function g.
    """

    dim: eqx.AbstractVar[int]
    coefficients: eqx.AbstractVar[Float[Array, " terms"]]

    @abstractmethod
    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        """The equation's g(u)."""

    def operators(self) -> PyTree:
        return {"u": Identity(), "lap": Laplacian()}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["lap"] + self.nonlinearity(values["u"]) - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        # With w = 1 − |x|² and S the sum, u = wS, ∇w = −2x and Δw = −2d, so
        # Δu = w ΔS + 2 ∇w·∇S + S Δw = w ΔS − 4 x·∇S − 2d S.
        total, radial, laplacian = two_body_terms(self.coefficients, x)
        w = 1 - jnp.sum(x * x)
        return w * laplacian - 4 * radial - 2 * self.dim * total + self.nonlinearity(w * total)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return (1 - jnp.sum(x * x)) * two_body_sum(self.coefficients, x)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return unit_ball(key, count, self.dim)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[Condition, ...]:
        return ()

    def ansatz(self, net: Callable) -> Callable:
        return ZeroOnUnitSphere(net)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return 1 - jnp.sum(x * x)

    def sections(self, resolution: int) -> tuple[Section, ...]:
        return ()  # random points are far from any plane in high dimension

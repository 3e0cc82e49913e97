"""The biharmonic equation on the unit ball, with a closed-form source.

The solution is u = p² S with p = 1 − |x|², which vanishes on the sphere with its slopes, and the
waves S(x) = Σ_i c_i sin a_i, a_i = √d (x_i + x_{i+1}). Let E = x·∇ be the derivative along the
radius. For functions f(s) of s = |x|², with ∇f = 2x f' and Δf = 2d f' + 4s f'', and any G

    Δ(fG) = f ΔG + 4f' EG + (2d f' + 4s f'') G,        ΔE = EΔ + 2Δ.

Apply this twice to f = p² = (1 − s)², where f' = −2p and f'' = 2, with h = 2d f' + 4s f'' = −4dp +
8s:

    Δu  = p² ΔS − 8p ES + h S
    Δ²u = p² Δ²S − 8p EΔS + h ΔS                        from p² ΔS
          − 8p (EΔS + 2ΔS) + 32 E²S + 16d ES            from −8p ES
          + h ΔS + 4h' ES + 2d h' S                     from h S, where h' = 4d + 8
        = p² Δ²S − 16p EΔS + (2h − 16p) ΔS + 32 E²S + 32 (d + 1) ES + 8d (d + 2) S.

Each a_i is linear with |∇a_i|² = 2d, so that E a_i = a_i and

    ES = Σ c_i a_i cos a_i,     E²S = Σ c_i (a_i cos a_i − a_i² sin a_i),
    ΔS = −2d S,     EΔS = −2d ES,     Δ²S = 4d² S.
"""

import math
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...nn import HardConstraint
from ...operators.laplacian import Biharmonic
from ...scalars import plain
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended
from ..sampling.ball import unit_ball_by_radius
from .problem import random_coefficients


@final
class BiharmonicWaves(AbstractSolvedProblem):
    """Biharmonic, $Δ²u = f$ on the unit ball, u = 0 and $∂u/∂n = 0$ on the sphere.

    The solution is $u(x) = (1 − |x|²)² Σ_i c_i sin(√d (x_i + x_{i+1}))$ with $c_i ~ N(0, 1)$. The
    arguments of the sine are about 1 in any dimension, so the solution does not flatten as d grows.
    The ansatz is $(1 − |x|²)² net(x)$. Sources: Timoshenko and Woinowsky-Krieger 1959,
    "Theory of plates and shells" (a clamped plate is d = 2); Hu et al. 2024, "Hutchinson trace
    estimation for high-dimensional and high-order physics-informed neural networks", for d > 2.

    **Arguments:**

    - `dim`: the number of coordinates d, at least 2.
    - `key`: a key from `jax.random.key`; it determines the solution's coefficients.

    **Raises:** `ValueError` if `dim` is less than 2.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.BiharmonicWaves(4, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x) / problem.source(x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "biharmonic"
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=5,
        steps=300,
        batch=2000,  # with 1,000 the error changes up to sevenfold within ten of the last steps
        width=64,
        depth=1,
        input_scale=2.0,
    )

    dim: int = eqx.field(static=True, converter=plain)
    coefficients: Float[Array, " terms"]

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        self.dim = dim
        self.coefficients = random_coefficients(self.name, dim, 2, key)

    def operators(self) -> PyTree:
        return Biharmonic()

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        d, s = self.dim, jnp.sum(x * x)
        p, h = 1 - s, 8 * s - 4 * d * (1 - s)
        total, radial, twice_radial = self._waves(x)
        laplacian = -2 * d * total
        return (
            p * p * 4 * d * d * total
            + 32 * d * p * radial
            + (2 * h - 16 * p) * laplacian
            + 32 * twice_radial
            + 32 * (d + 1) * radial
            + 8 * d * (d + 2) * total
        )

    def _waves(
        self, x: Float[Array, " dim"]
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """S, ES and E²S."""
        angles = math.sqrt(self.dim) * (x[:-1] + x[1:])
        sine, cosine = jnp.sin(angles), jnp.cos(angles)
        radial = self.coefficients @ (angles * cosine)
        return (
            self.coefficients @ sine,
            radial,
            radial - self.coefficients @ (angles * angles * sine),
        )

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        waves = self.coefficients @ jnp.sin(math.sqrt(self.dim) * (x[:-1] + x[1:]))
        return self.null_shape(x) * waves

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return unit_ball_by_radius(key, count, self.dim)

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(net, value=_zero, factor=_squared_bubble)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return _squared_bubble(x)


def _zero(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return jnp.zeros((), x.dtype)


def _squared_bubble(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return jnp.square(1 - jnp.sum(x * x))

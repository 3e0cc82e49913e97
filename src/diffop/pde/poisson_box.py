"""The Poisson equation on a cube."""

import math
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.sampled import AtPoints
from ..operators.laplacian import Laplacian
from ..scalars import plain
from .ball.problem import random_coefficients
from .ball.two_body_sum import two_body_sum, two_body_terms
from .conditions.base import Conditions
from .conditions.prescribed import Dirichlet
from .domains.box import Box
from .problem import AbstractSolvedProblem
from .recommended import LEAST_SQUARES, Recommended


@final
class PoissonBox(AbstractSolvedProblem):
    """Poisson, $Δu = f$ on the cube [−1, 1]^d, with u given on its faces.

    The solution is $u(x) = d^{−1/2} Σ_i c_i sin(x_i + cos x_{i+1} + x_{i+1} cos x_i)$ with
    $c_i ~ N(0, 1)$. This is the two-body sum of the problems on the unit ball, but here coordinates
    are about 1, so the solution depends on all of them in any dimension. The null model is the best
    constant. The data are values at random points of random faces.

    **Arguments:**

    - `dim`: the number of coordinates d, at least 2.
    - `key`: a key from `jax.random.key`; it determines the solution's coefficients.

    **Raises:** `ValueError` if `dim` is less than 2.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.PoissonBox(10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "poisson-box"
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=10,
        steps=200,
        batch=3500,
        data_batch=500,
        data_weight=100.0,
        width=128,
        depth=1,
    )

    dim: int = eqx.field(static=True, converter=plain)
    coefficients: Float[Array, " terms"]

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        self.dim = dim
        self.coefficients = random_coefficients(self.name, dim, 2, key) / math.sqrt(dim)

    def operators(self) -> PyTree:
        return Laplacian()

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.coefficients @ two_body_terms(x)[2]

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return two_body_sum(self.coefficients, jnp.sum(self.coefficients), x)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(Dirichlet(self.solution, on=self.domain.boundary))(key, count)

    @property
    def domain(self) -> Box:
        """The cube."""
        return Box((-1.0,) * self.dim, (1.0,) * self.dim)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.ones((), x.dtype)

"""The Poisson equation on a cube, and two that are not linear."""

from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...equations.sampled import AtPoints
from ...operators.elementary import Identity
from ...operators.laplacian import Laplacian
from ...scalars import plain
from ..ball.many_body import EQUATIONS
from ..conditions.base import Conditions
from ..conditions.prescribed import Dirichlet
from ..domains.box import Box
from ..recommended import ByDimension
from .problem import AbstractOnCube, coefficients_of, cube
from .recommended import ELLIPTIC


@final
class OnCube(AbstractOnCube):
    """$Δu + g(u) = f$ on the cube [−1, 1]^d, with u given on its faces.

    The equation is "poisson" with g = 0, "allen-cahn" with $g(u) = u − u³$, or "sine-gordon" with
    $g(u) = sin u$, and the solution is the sum of `diffop.pde.AbstractOnCube`. The null model is
    the best constant; the data are values at random points of random faces.

    **Arguments:**

    - `equation`: "poisson", "allen-cahn" or "sine-gordon".
    - `dim`: the number of coordinates d, at least 2.
    - `key`: a key from `jax.random.key`; it determines the solution's coefficients.

    Its `name`, on the command line too, is such as "poisson-cube".

    **Raises:** `ValueError` for another equation, or if `dim` is less than 2.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.OnCube("poisson", 10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    equation: str = eqx.field(static=True)
    dim: int = eqx.field(static=True, converter=plain)
    coefficients: Float[Array, " terms"]

    def __init__(self, equation: str, dim: int, *, key: PRNGKeyArray):
        if equation not in EQUATIONS:
            raise ValueError(
                f"OnCube expects an equation among {', '.join(EQUATIONS)}, got {equation!r}."
            )
        self.equation, self.dim = equation, dim
        self.coefficients = coefficients_of(self.name, dim, key)

    @property
    def name(self) -> str:
        return f"{self.equation}-cube"

    @property
    def recommended(self) -> ByDimension:
        """By the dimension, the same for all equations."""
        return ELLIPTIC

    @property
    def domain(self) -> Box:
        """The cube."""
        return cube(self.dim)

    def operators(self) -> PyTree:
        return {"u": Identity(), "lap": Laplacian()}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["lap"] + self.nonlinearity(values["u"]) - self.source(x)

    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        """The equation's $g(u)$."""
        return EQUATIONS[self.equation].nonlinearity(u)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.laplacian_of_sum(x) + self.nonlinearity(self.sum(x))

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.sum(x)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(Dirichlet(self.solution, on=self.domain.boundary))(key, count)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.ones((), x.dtype)

"""The heat equation on a cube."""

from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...equations.sampled import AtPoints
from ...nn import InitialCondition
from ...operators.elementary import Partial
from ...operators.laplacian import Laplacian
from ...scalars import plain
from ..conditions.base import Conditions
from ..conditions.prescribed import Dirichlet
from ..domains.space_time import SpaceTime
from ..recommended import ByDimension
from .problem import AbstractOnCube, coefficients_of, cube
from .recommended import HEAT


@final
class HeatOnCube(AbstractOnCube):
    """The heat equation, $u_t = Δu + f$ on the cube [−1, 1]^d to time 1, with u given on its faces.

    The solution is $u(x, t) = e^{−t} S(x)$ with the sum of `diffop.pde.AbstractOnCube`. The ansatz
    $u = S(x) + t net(x, t)$ begins where the solution does, and is asked for its values at random
    points of random faces, at any time. The null model is the initial value, held still.

    **Arguments:**

    - `space_dim`: the number of coordinates d of space, at least 2. Points have d + 1.
    - `key`: a key from `jax.random.key`; it determines the solution's coefficients.

    **Raises:** `ValueError` if `space_dim` is less than 2.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.HeatOnCube(10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]  # (11,): x and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "heat-cube"
    recommended: ClassVar[ByDimension] = HEAT

    space_dim: int = eqx.field(static=True, converter=plain)
    coefficients: Float[Array, " terms"]

    def __init__(self, space_dim: int, *, key: PRNGKeyArray):
        self.space_dim = space_dim
        self.coefficients = coefficients_of(self.name, space_dim, key)

    @property
    def dim(self) -> int:
        """The number of coordinates of a point, time among them."""
        return self.space_dim + 1

    @property
    def domain(self) -> SpaceTime:
        """The cube, to time 1."""
        return SpaceTime(cube(self.space_dim), 1.0)

    def operators(self) -> PyTree:
        space = tuple(range(self.space_dim))
        return Partial(self.space_dim) - Laplacian(dims=space)

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -jnp.exp(-x[-1]) * (self.sum(x[:-1]) + self.laplacian_of_sum(x[:-1]))

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.exp(-x[-1]) * self.sum(x[:-1])

    def ansatz(self, net: Callable) -> Callable:
        return InitialCondition(self.domain.fitted(net), self.null_shape)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(Dirichlet(self.solution, on=self.domain.boundary))(key, count)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.sum(x[:-1])

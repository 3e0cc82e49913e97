"""Fast advection, with periodic ends."""

import math
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.elementary import Partial
from ...scalars import plain
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended
from .evolution import AbstractPeriodic


@final
class Advection(AbstractPeriodic, AbstractSolvedProblem):
    """Advection, $u_t + c u_x = 0$ on [−π, π], periodic, from $sin x$, fast.

    The solution is $sin(x − ct)$. Source: Krishnapriyan et al. 2021, "Characterizing possible
    failure modes in physics-informed neural networks", whose networks fail from c = 10 on to time
    1; c = 50 to time 2 is an example of jaxpi2.

    **Arguments:**

    - `speed`: c.
    - `duration`: the last time, positive.

    **Raises:** `ValueError` if the duration is not positive.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.Advection(speed=30.0)
        x = jnp.array([0.5, 0.2])  # x and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "advection"
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=300,
        batch=2000,
        width=24,
        depth=2,
        input_scale=3.0,
    )

    speed: int | float = eqx.field(static=True, converter=plain, default=30.0)
    duration: int | float = eqx.field(static=True, converter=plain, default=1.0)

    domain: SpaceTime = eqx.field(init=False)

    def __post_init__(self) -> None:
        self.domain = SpaceTime(Box((-math.pi,), (math.pi,)), self.duration)

    def operators(self) -> PyTree:
        return Partial(1) + self.speed * Partial(0)

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sin(x[0])

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sin(x[0] - self.speed * x[1])

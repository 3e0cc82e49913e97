"""A vibrating string in two of its modes."""

from collections.abc import Callable
from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...equations.sampled import AtPoints
from ...nn import HardConstraint
from ...operators.elementary import Partial
from ..conditions.base import Conditions
from ..conditions.prescribed import Initial
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended
from .evolution import AbstractEvolution


@final
class Wave1D(AbstractEvolution, AbstractSolvedProblem):
    """The wave equation, $u_tt = 4 u_xx$ on [0, 1] to time 1, a string in two of its modes.

    Its ends are fixed, it begins at rest, and the solution is
    $sin πx cos 2πt + ½ sin 4πx cos 8πt$. The ansatz is $4x (1 − x) net(x, t)$. u and $u_t$ at time
    0 are conditions: built in as $u(x, 0) + t² net$, they would need a network with values of
    hundreds at time 0 and of one at the end. Source: Wang, Yu and Perdikaris 2022, "When and why
    PINNs fail to train: a neural tangent kernel perspective".

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.Wave1D()
        x = jnp.array([0.5, 0.2])  # x and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "wave-1d"
    domain: ClassVar[SpaceTime] = SpaceTime(Box((0.0,), (1.0,)), 1.0)
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=300,
        batch=2000,
        data_batch=150,
        data_weight=[1e4, 100.0],
        width=24,
        depth=2,
        input_scale=2.0,
    )

    def operators(self) -> PyTree:
        return Partial(1, 2) - 4 * Partial(0, 2)

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sin(jnp.pi * x[0]) + 0.5 * jnp.sin(4 * jnp.pi * x[0])

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(self.domain.fitted(net), 0.0, lambda x: 4 * x[0] * (1 - x[0]))

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(
            Initial(self.initial, on=self.domain), Initial(0.0, on=self.domain, order=1)
        )(key, count)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        low, high = jnp.pi * x[0], 4 * jnp.pi * x[0]
        slow, fast = 2 * jnp.pi * x[1], 8 * jnp.pi * x[1]
        return jnp.sin(low) * jnp.cos(slow) + 0.5 * jnp.sin(high) * jnp.cos(fast)

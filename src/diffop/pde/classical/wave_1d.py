"""A vibrating string in two of its modes."""

from collections.abc import Callable
from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...nn import HardConstraint, MappedInput
from ...operators.elementary import Partial
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended
from .evolution import AbstractEvolution


@final
class Wave1D(AbstractEvolution, AbstractSolvedProblem):
    """The wave equation, $u_tt = 4 u_xx$ on [0, 1] to time 1, a string in two of its modes.

    Its ends are fixed, it begins at rest, and the solution is
    $sin πx cos 2πt + ½ sin 4πx cos 8πt$. The ansatz has the symmetries of every string with fixed
    ends that begins at rest: u is odd at both ends, so that it goes on with period 2 in x, even in
    time, and has the period 1 of a wave that comes back from both ends. It is

        u(x, 0) + ½ (1 − cos 2πt) sin πx net(cos πx, cos 2πt),

    so that u and $u_t$ at time 0 are built in. Built in as $u(x, 0) + t² net$ they would need a
    network with values of hundreds at time 0 and of one at the end. Source: Wang, Yu and
    Perdikaris 2022, "When and why PINNs fail to train: a neural tangent kernel perspective".

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
        steps=250,
        batch=2000,
        width=24,
        depth=2,
    )

    def operators(self) -> PyTree:
        return Partial(1, 2) - 4 * Partial(0, 2)

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sin(jnp.pi * x[0]) + 0.5 * jnp.sin(4 * jnp.pi * x[0])

    def ansatz(self, net: Callable) -> Callable:
        def seen(x: Float[Array, " dim"]) -> Float[Array, " 2"]:
            return jnp.stack([jnp.cos(jnp.pi * x[0]), jnp.cos(2 * jnp.pi * x[1])])

        def factor(x: Float[Array, " dim"]) -> Float[Array, ""]:
            return (1 - jnp.cos(2 * jnp.pi * x[1])) / 2 * jnp.sin(jnp.pi * x[0])

        return HardConstraint(MappedInput(net, seen), self.initial, factor)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        low, high = jnp.pi * x[0], 4 * jnp.pi * x[0]
        slow, fast = 2 * jnp.pi * x[1], 8 * jnp.pi * x[1]
        return jnp.sin(low) * jnp.cos(slow) + 0.5 * jnp.sin(high) * jnp.cos(fast)

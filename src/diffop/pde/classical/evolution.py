"""Evolution equations in boxes."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...nn import BoxInput, InitialCondition, PeriodicInput
from ..domains.space_time import SpaceTime
from ..problem import AbstractProblem


class AbstractEvolution(AbstractProblem):
    """An equation without source on an interval, or in a box, during a time, for points (x, t). Its
    `initial` value at time 0 is known, and is the null model at all times.

    A subclass defines `operators`, `residual` and the value at time 0, and has its data in the
    ansatz or in conditions.

    - `domain`: a `diffop.pde.SpaceTime` of a `diffop.pde.Box`.
    """

    dim: ClassVar[int] = 2
    domain: eqx.AbstractVar[SpaceTime]

    @abstractmethod
    def initial(self, x: Float[Array, " dim"]) -> Float[Array, "..."]:
        """u(x, 0), for a point at any time."""

    def source(self, x: Float[Array, " dim"]) -> Float[Array, "..."]:
        return jnp.zeros(() if self.outputs == "scalar" else self.outputs, x.dtype)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, "..."]:
        return self.initial(x)


class AbstractPeriodic(AbstractEvolution):
    """An evolution equation on an interval with periodic ends, or in a box with periodic sides.

    The ansatz is $u₀(x) + t net(t', sin 2πx/L, cos 2πx/L)$, where L is the length of the interval
    and t' the time scaled to [−1, 1]. It is periodic, and exact at time 0. In a box the network
    sees the sines of all coordinates, and then their cosines.
    """

    inputs: ClassVar[int] = 3

    def ansatz(self, net: Callable) -> Callable:
        return InitialCondition(periodic(net, self.domain), self.initial)


def periodic(net: Callable, domain: SpaceTime) -> PeriodicInput:
    """$net(t', sin 2πx_i/L_i, cos 2πx_i/L_i)$, with first all sines and then all cosines."""
    (*lower, start), (*upper, end) = domain.first, domain.last
    ones = (1.0,) * (2 * len(lower))
    scaled = BoxInput(net, (start, *(-one for one in ones)), (end, *ones))
    lengths = (above - below for below, above in zip(lower, upper, strict=True))
    return PeriodicInput(scaled, dict(enumerate(lengths)))

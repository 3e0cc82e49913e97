"""The Allen-Cahn equation in one dimension.

Without diffusion, u' = 5u − 5u³ has the solution

    Φ_t(v) = v / √(v² + (1 − v²) e^{−10t})

from v at time 0. Without reaction, a kink |q| diffuses to

    K(q, t) = q erf(q/s) + s/√π exp(−q²/s²),    s = 2 √(νt),

which is analytic for t > 0 and even in q. Here q = (2/π) cos(πx/2), which is the distance from the
ends there, is smooth inside, and changes its sign at the ends. So with the slopes −2 and 2 of the
initial value the sum u(x, 0) + 2 (K − q) has no kink at the ends after time 0.
"""

import math
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import erf
from jaxtyping import Array, Float, PyTree

from ...nn import HardConstraint, MappedInput
from ...operators.elementary import Identity, Partial
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .computed import AbstractComputed

_DIFFUSION = 1e-4
_SIZE = 0.01
"""Of what is neither diffusion nor reaction alone, but both together."""


@final
class AllenCahn1D(AbstractComputed):
    """Allen-Cahn, $u_t = 10⁻⁴ u_xx + 5u − 5u³$ on [−1, 1], periodic, to time 1, from $x² cos πx$.

    At the periodic ends u begins with a kink, of slopes −2 and 2. At the end there are two walls
    between the phases −1 and 1. Reference values come from spectral elements, to nine digits.

    The ansatz knows what diffusion and reaction do alone. Let h(x, t) be the initial value with its
    kink diffused, and $Φ_t(v)$ what reaction makes of v in the time t:

        h = x² cos πx + 2 (K − q),    q = (2/π) cos(πx/2),    K = q erf(q/s) + s/√π exp(−q²/s²),
        Φ_t(v) = v / √(v² + (1 − v²) e^{−10t}),    s² = 4·10⁻⁴ t.

    The ansatz is $Φ_t(h + t/100 · net(t, cos πx, K, Φ_t(h)))$. It is exact at time 0, even and
    periodic, and the network is smooth at the kink and the walls. The null model is that without a
    network, $Φ_t(h)$. Source: Raissi, Perdikaris and Karniadakis 2019, "Physics-informed neural
    networks".

    !!! example

        ```python
        import diffop as do

        do.pde.AllenCahn1D().reference().values.min()  # −1.0, where it began
        ```
    """

    name: ClassVar[str] = "allen-cahn-1d"
    inputs: ClassVar[int] = 4
    domain: ClassVar[SpaceTime] = SpaceTime(Box((-1.0,), (1.0,)), 1.0)
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=200,
        batch=2500,
        pool=3,
        data_batch=1,
        width=16,
        depth=3,
    )

    def operators(self) -> PyTree:
        return {"u": Identity(), "linear": Partial(1) - _DIFFUSION * Partial(0, 2)}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = values["u"]
        return values["linear"] - 5 * u + 5 * u**3

    def ansatz(self, net: Callable) -> Callable:
        corrected = MappedInput(net, self._seen)
        return _Reacted(HardConstraint(corrected, self.diffused, lambda x: _SIZE * x[1]))

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return x[0] ** 2 * jnp.cos(jnp.pi * x[0])

    def diffused(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """h, the initial value with its kink diffused."""
        return self.initial(x) + 2 * (_kink(x) - _distance(x))

    def _seen(self, x: Float[Array, " dim"]) -> Float[Array, " 4"]:
        """What the network sees, between −1 and 1."""
        begun = _reacted(self.diffused(x), x)
        return jnp.stack([2 * x[1] - 1, jnp.cos(jnp.pi * x[0]), 3 * _kink(x) - 1, begun])

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return _reacted(self.diffused(x), x)


class _Reacted(eqx.Module):
    """What reaction makes of a function of x and t in the time t."""

    function: Callable

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return _reacted(self.function(x), x)


def _reacted(v: Float[Array, ""], x: Float[Array, " dim"]) -> Float[Array, ""]:
    return v / jnp.sqrt(v * v + (1 - v * v) * jnp.exp(-10 * x[1]))


def _distance(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return 2 / math.pi * jnp.cos(jnp.pi / 2 * x[0])


def _kink(x: Float[Array, " dim"]) -> Float[Array, ""]:
    least = jnp.finfo(x.dtype).eps ** 2  # the root has no derivative at 0
    width = jnp.sqrt(4 * _DIFFUSION * x[1] + least)
    q = _distance(x)
    return q * erf(q / width) + width / math.sqrt(math.pi) * jnp.exp(-((q / width) ** 2))

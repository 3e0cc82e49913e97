"""The Kuramoto-Sivashinsky equation."""

import math
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.elementary import Identity, Partial
from ...scalars import plain
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .computed import AbstractComputed

_SCALE = 16


@final
class KuramotoSivashinsky(AbstractComputed):
    """Kuramoto-Sivashinsky, $u_t + α u u_x + β u_xx + γ u_xxxx = 0$ on [0, 2π], periodic, chaotic.

    $α = 100/16$, $β = 100/16²$, $γ = 100/16⁴$, from $cos x (1 + sin x)$. Waves up to number 16
    grow and take the others' energy. Reference values come from Fourier's method and exponential
    steps. They are accurate to 1e-8 of the largest value: the rounding errors of many steps grow,
    since the equation is chaotic. Papers compare at time 1. Here time ends at 0.1 by default, which
    is what one network learns.

    Source: Wang, Sankaran and Perdikaris 2022, "Respecting causality is all you need for training
    physics-informed neural networks"; jaxpi and jaxpi2.

    **Arguments:**

    - `duration`: the last time, at least 0.01 and at most 1.

    **Raises:** `ValueError` if it is not.

    !!! example

        ```python
        import diffop as do

        do.pde.KuramotoSivashinsky(duration=1.0).reference().values.max()  # 2.934
        ```
    """

    name: ClassVar[str] = "kuramoto-sivashinsky"
    rel_error: ClassVar[float] = 1e-8
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=300,
        batch=2500,
        data_batch=1,
        width=16,
        depth=3,
    )

    duration: int | float = eqx.field(static=True, converter=plain, default=0.1)

    domain: SpaceTime = eqx.field(init=False)

    def __post_init__(self) -> None:
        self.domain = self._lasting(Box((0.0,), (2 * math.pi,)), self.duration)

    def operators(self) -> PyTree:
        bent = 100 / _SCALE**2 * Partial(0, 2) + 100 / _SCALE**4 * Partial(0, 4)
        return {"u": Identity(), "u_x": Partial(0), "linear": Partial(1) + bent}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["linear"] + 100 / _SCALE * values["u"] * values["u_x"]

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.cos(x[0]) * (1 + jnp.sin(x[0]))

"""The Korteweg-de Vries equation from a cosine."""

from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.elementary import Identity, Partial
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .computed import AbstractComputed


@final
class KdVCosine(AbstractComputed):
    """Korteweg-de Vries, $u_t + u u_x + 0.022² u_xxx = 0$ on [−1, 1], periodic, to time 1, from
    $cos πx$, which breaks up into solitons.

    Reference values are those of Fourier's method, to 1e-9 of the largest: by 200 to 512 modes they
    differ by so much, as rounding adds up. Source: Zabusky and
    Kruskal 1965, "Interaction of 'solitons' in a collisionless plasma and the recurrence of initial
    states".

    !!! example

        ```python
        import diffop as do

        do.pde.KdVCosine().reference().values.max()  # 2.622
        ```
    """

    name: ClassVar[str] = "kdv-cosine"
    domain: ClassVar[SpaceTime] = SpaceTime(Box((-1.0,), (1.0,)), 1.0)
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=350,
        batch=2500,
        data_batch=1,
        width=16,
        depth=3,
    )

    def operators(self) -> PyTree:
        linear = Partial(1) + 0.022**2 * Partial(0, 3)
        return {"u": Identity(), "u_x": Partial(0), "linear": linear}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["linear"] + values["u"] * values["u_x"]

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.cos(jnp.pi * x[0])

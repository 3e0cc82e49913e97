"""The Allen-Cahn equation in one dimension."""

from collections.abc import Callable
from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.elementary import Identity, Partial
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .computed import AbstractComputed


@final
class AllenCahn1D(AbstractComputed):
    """Allen-Cahn, $u_t = 10⁻⁴ u_xx + 5u − 5u³$ on [−1, 1], periodic, to time 1, from $x² cos πx$.

    At the periodic ends u begins with a kink, of slopes −2 and 2. At the end there are two walls
    between the phases −1 and 1. Reference values come from spectral elements, to nine digits.

    The ansatz is the periodic network. The initial value is a condition: built in, its kink would
    stay, since no point sees its second derivative. Source: Raissi, Perdikaris and
    Karniadakis 2019, "Physics-informed neural networks".

    !!! example

        ```python
        import diffop as do

        do.pde.AllenCahn1D().reference().values.min()  # −1.0, where it began
        ```
    """

    name: ClassVar[str] = "allen-cahn-1d"
    domain: ClassVar[SpaceTime] = SpaceTime(Box((-1.0,), (1.0,)), 1.0)
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=300,
        batch=2500,
        pool=3,
        data_batch=250,
        data_weight=100.0,
        width=16,
        depth=3,
    )

    def operators(self) -> PyTree:
        return {"u": Identity(), "linear": Partial(1) - 1e-4 * Partial(0, 2)}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = values["u"]
        return values["linear"] - 5 * u + 5 * u**3

    def ansatz(self, net: Callable) -> Callable:
        return self.periodic(net)

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return x[0] ** 2 * jnp.cos(jnp.pi * x[0])

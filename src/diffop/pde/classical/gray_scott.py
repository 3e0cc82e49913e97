"""Gray's and Scott's equations, and a ring that grows.

Two spots begin in the middle. Where the second substance is, it uses up the first one within 1/100
of the time unit, and then decays, except at the rim: what is left is a ring that grows.
"""

from collections.abc import Callable
from typing import ClassVar, Literal, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...nn import HardConstraint, MappedInput
from ...operators.elementary import Identity, Partial
from ...scalars import plain
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .computed import AbstractComputed

_SPREAD = (0.2, 0.1)
_FED, _LOST, _MADE = 40.0, 100.0, 1000.0
_STEEP = 10.0
_CENTRES = ((-0.05, -0.02), (0.05, 0.02))
_RATE = 100.0
"""At which first changes, which are fast, come to an end."""


@final
class GrayScott(AbstractComputed):
    """Gray-Scott, $u_t = 0.2 Δu + 40 (1 − u) − 1000 u v²$, $v_t = 0.1 Δv − 100 v + 1000 u v²$ on
    $[−1, 1]²$.

    The sides are periodic, and the unknown is the pair (u, v), two substances. The second one makes
    more of itself out of the first, which is fed. The initial values are $1 − g(x + z)$ and
    $g(x − z)$ with $z = (0.05, 0.02)$ and $g(x) = e^{−10|x|²}$, summed over periods. Without that
    sum, as in the source, they jump by up to 1.2e-4 at the sides; from time 0.05 on the solutions
    differ by less than 2e-6. Reference values are those of Fourier's method, at 24 × 24 places, to
    5e-10 of the largest. The ring breaks after time 0.6, where it is thinnest. The source goes on
    to time 2. Here values are known up to 0.5, and time ends at 0.1 by default, which is what one
    network learns.

    The ansatz is exact at time 0, and knows that first changes have the rate 100:

        (u, v)(x, 0) + (1 − e^{−100t}) net(log(1 + 100t), sin πx, sin πy, cos πx, cos πy),

    with time scaled to [−1, 1]. The null model is the initial value. Source: Wang, Li, Chen and
    Perdikaris 2024, "PirateNets: Physics-informed deep learning with residual adaptive networks".

    **Arguments:**

    - `duration`: the last time, at least 0.025 and at most 0.5.

    **Raises:** `ValueError` if it is not.

    !!! example

        ```python
        import diffop as do

        do.pde.GrayScott(duration=0.5).reference().values[-576:, 1].max()  # 0.347
        ```
    """

    name: ClassVar[str] = "gray-scott"
    dim: ClassVar[int] = 3
    rel_error: ClassVar[float] = 5e-10
    known_to: ClassVar[float] = 0.5
    outputs: ClassVar[int | Literal["scalar"]] = 2
    value_names: ClassVar[tuple[str, ...]] = ("u", "v")
    inputs: ClassVar[int | None] = 5
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=3,
        steps=150,
        batch=2500,
        data_batch=1,
        width=20,
        depth=3,
    )

    duration: int | float = eqx.field(static=True, converter=plain, default=0.1)

    domain: SpaceTime = eqx.field(init=False)

    def __post_init__(self) -> None:
        self.domain = self._lasting(Box((-1.0, -1.0), (1.0, 1.0)), self.duration)

    def operators(self) -> PyTree:
        spread = Partial(0, 2) + Partial(1, 2)
        return {"u": Identity(), "u_t": Partial(2), "spread": spread}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        u, v = values["u"]
        made = _MADE * u * v * v
        change = jnp.stack([_FED * (1 - u) - made, made - _LOST * v])
        return values["u_t"] - jnp.array(_SPREAD, x.dtype) * values["spread"] - change

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        """(u, v) at time 0, for a point at any time."""
        used, second = (_spot(x, centre) for centre in _CENTRES)
        return jnp.stack([1 - used, second])

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(MappedInput(net, self._seen), self.initial, _begun)

    def _seen(self, x: Float[Array, " dim"]) -> Float[Array, " 5"]:
        """What the network sees, between −1 and 1."""
        long = jnp.log1p(_RATE * self.duration)
        time = 2 * jnp.log1p(_RATE * x[2]) / long - 1
        turned = jnp.pi * x[:2]
        return jnp.concatenate([time[None], jnp.sin(turned), jnp.cos(turned)])


def _spot(x: Float[Array, " dim"], centre: tuple[float, float]) -> Float[Array, ""]:
    """A Gaussian, summed over periods."""
    away = x[:2] - jnp.array(centre, x.dtype)
    periods = 2 * jnp.arange(-1, 2, dtype=x.dtype)[:, None]
    return jnp.prod(jnp.sum(jnp.exp(-_STEEP * (away[None] + periods) ** 2), axis=0))


def _begun(x: Float[Array, " dim"]) -> Float[Array, ""]:
    return -jnp.expm1(-_RATE * x[2])

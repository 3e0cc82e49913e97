"""The complex Ginzburg-Landau equation, and a spiral.

The initial value is i r e^{−iθ} times a Gaussian, so that on the whole plane A is e^{−iθ} times a
function of the distance r and of time. Diffusion alone makes of 10 (y + ix) e^{−25 r²}, with
4 ε s = 1/25,

    H = 10 (y + ix) (s / (s + t))² exp(−r² / 4ε(s + t)),

and reaction alone of v, with |A|² from the logistic equation and the phase from its integral,

    Φ_t(v) = v e^{10t} D^{−1/2 − 3i/4},    D = 1 + |v|² (e^{20t} − 1).
"""

from collections.abc import Callable
from typing import ClassVar, Literal, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...operators.elementary import Identity, Partial
from ...scalars import plain
from ...terms.shapes import check_shape
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .computed import AbstractComputed

_EPSILON, _GROWTH, _TURN = 0.004, 10.0, 1.5
_STEEP = 25.0
_BEGUN = 1 / (4 * _EPSILON * _STEEP)
"""s, the time in which a point would spread to the initial Gaussian."""

_CORE = 0.1
"""The size of the core of the spiral, for the network."""


@final
class GinzburgLandau(AbstractComputed):
    """Ginzburg-Landau, $A_t = 0.004 ΔA + 10 A − (10 + 15i) |A|² A$ on $[−1, 1]²$, to time 1, a
    spiral.

    The sides are periodic, the initial value is $10 (y + ix) e^{−25 r²}$ with the distance r from
    the centre, and the unknown is the pair (u, v) with $A = u + iv$. Reference values are those of
    Fourier's method, at 20 × 20 places, to 3e-6 of the largest.

    The initial value turns with the plane, and so does the equation. The ansatz is a function of r
    and t times y + ix, and knows what diffusion and reaction do alone:

        A = Φ_t(H e^{t (p + iq)}),    (p, q) = net(√(r² + 0.01), t),
        Φ_t(v) = v e^{10t} D^{−1/2 − 3i/4},    D = 1 + |v|² (e^{20t} − 1),
        H = 10 (y + ix) (2.5 / (2.5 + t))² exp(−r² / 0.016 (2.5 + t)).

    It is exact at time 0, and neglects that the sides are periodic: up to time 1 hardly anything
    has reached them. There $|A|$ is below 0.0005. The null model is the ansatz without a network.
    Source: Wang, Li, Chen and Perdikaris 2024, "PirateNets: Physics-informed deep learning with
    residual adaptive networks".

    **Arguments:**

    - `duration`: the last time, at least 0.05 and at most 1.

    **Raises:** `ValueError` if it is not.

    !!! example

        ```python
        import diffop as do

        do.pde.GinzburgLandau(duration=0.5).reference().values.max()  # 0.984
        ```
    """

    name: ClassVar[str] = "ginzburg-landau"
    dim: ClassVar[int] = 3
    rel_error: ClassVar[float] = 3e-6
    outputs: ClassVar[int | Literal["scalar"]] = 2
    value_names: ClassVar[tuple[str, ...]] = ("u", "v")
    inputs: ClassVar[int | None] = 2
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=3,
        steps=150,
        batch=1500,
        data_batch=1,
        width=16,
        depth=2,
    )

    duration: int | float = eqx.field(static=True, converter=plain, default=1.0)

    domain: SpaceTime = eqx.field(init=False)

    def __post_init__(self) -> None:
        self.domain = self._lasting(Box((-1.0, -1.0), (1.0, 1.0)), self.duration)

    def operators(self) -> PyTree:
        spread = Partial(0, 2) + Partial(1, 2)
        return {"u": Identity(), "linear": Partial(2) - _EPSILON * spread - _GROWTH * Identity()}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        u, v = values["u"]
        turned = jnp.stack([u - _TURN * v, v + _TURN * u])
        return values["linear"] + _GROWTH * (u * u + v * v) * turned

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        """(u, v) at time 0, for a point at any time."""
        return 10 * x[:2][::-1] * jnp.exp(-_STEEP * (x[0] ** 2 + x[1] ** 2))

    def ansatz(self, net: Callable) -> Callable:
        return _Reacted(net, self.duration)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        return _reacted(_diffused(x), x[2])


@final
class _Reacted(eqx.Module):
    """Φ of H times the exponential of a network of distance and time."""

    net: Callable
    duration: int | float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "3"]) -> Float[Array, "2"]:
        time = x[2]
        far = jnp.sqrt(x[0] ** 2 + x[1] ** 2 + _CORE**2)
        value = self.net(jnp.stack([2 * far - 1, 2 * time / self.duration - 1]))
        check_shape("the network", jnp.shape(value), "the solution", (2,))
        p, q = time * value
        return _reacted(_turned(jnp.exp(p) * _diffused(x), q), time)


def _diffused(x: Float[Array, " dim"]) -> Float[Array, "2"]:
    """H."""
    age = _BEGUN + x[2]
    spread = jnp.exp(-(x[0] ** 2 + x[1] ** 2) / (4 * _EPSILON * age))
    return 10 * (_BEGUN / age) ** 2 * spread * x[:2][::-1]


def _reacted(v: Float[Array, "2"], time: Float[Array, ""]) -> Float[Array, "2"]:
    """Φ."""
    log = jnp.log1p(v @ v * jnp.expm1(2 * _GROWTH * time))
    return jnp.exp(_GROWTH * time - log / 2) * _turned(v, -_TURN / 2 * log)


def _turned(v: Float[Array, "2"], angle: Float[Array, ""]) -> Float[Array, "2"]:
    """v e^{i angle}."""
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([cos * v[0] - sin * v[1], sin * v[0] + cos * v[1]])

"""Burgers' equation, with Cole's and Hopf's solution by quadrature.

Cole and Hopf: with u = −2ν φ_x/φ the equation is φ_t = ν φ_xx, so that for u(x, 0) = −sin πx

    φ(x, t) = ∫ exp(−cos πy / 2πν − (x − y)² / 4νt) dy,

and u is the mean of −sin πy with the integrand as weight. With y = x − 2√(νt) z the weight is
exp(−cos πy / 2πν − z²), which is analytic, so the trapezoidal rule converges exponentially. The
weight is largest where |z| is below 10, for ν = 0.01/π at all times up to 1. The integrand has the
frequencies 2πk√(νt) in z, with amplitudes of about (4πν)^{1−k}/(k−1)!. The nodes cannot distinguish
a frequency near 2π/0.07 from 0; up to ν = 2 its amplitude is below rounding.
"""

import math
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ...nn import HardConstraint, MappedInput
from ...operators.elementary import Identity, Partial
from ...scalars import plain
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..problem import AbstractSolvedProblem
from ..recommended import LEAST_SQUARES, Recommended
from .evolution import AbstractEvolution

_REACH, _NODES = 14.0, 401


@final
class Burgers(AbstractEvolution, AbstractSolvedProblem):
    """Burgers, $u_t + u u_x = ν u_xx$ on [−1, 1] to time 1, from $−sin πx$, a front that steepens.

    u is 0 at both ends, and odd: $u(−x, t) = −u(x, t)$. From $t ≈ 1/π$ on there is a front at x =
    0, of width $2ν$. The ansatz is odd too, and sees the front as large as the rest. With the
    length $δ = πν$ it is

        −sin πx + t (1 − x²) x / √(x² + δ²) net(log(1 + (x/δ)²), t),

    with both inputs scaled to [−1, 1]. The solution is Cole's and Hopf's, by quadrature. Source:
    Raissi, Perdikaris and Karniadakis 2019, "Physics-informed neural networks"; Basdevant et al.
    1986, "Spectral and finite difference solutions of the Burgers equation".

    **Arguments:**

    - `viscosity`: $ν$, from 0.002 to 2, where the solution is computed to rounding.

    **Raises:** `ValueError` if it is out of that range.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.Burgers(viscosity=0.1)
        x = jnp.array([0.5, 0.2])  # x and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "burgers"
    domain: ClassVar[SpaceTime] = SpaceTime(Box((-1.0,), (1.0,)), 1.0)
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=300,
        batch=3000,
        pool=3,
        width=16,
        depth=3,
    )

    viscosity: int | float = eqx.field(static=True, converter=plain, default=0.01 / math.pi)

    def __check_init__(self) -> None:
        if not 0.002 <= self.viscosity <= 2:
            raise ValueError(
                f"{self.name} expects a viscosity from 0.002 to 2, got {self.viscosity}; elsewhere "
                "its solution is not computed to rounding. For another one write a problem of your "
                "own."
            )

    def operators(self) -> PyTree:
        linear = Partial(1) - self.viscosity * Partial(0, 2)
        return {"u": Identity(), "u_x": Partial(0), "linear": linear}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["linear"] + values["u"] * values["u_x"]

    def initial(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -jnp.sin(jnp.pi * x[0])

    def ansatz(self, net: Callable) -> Callable:
        length = math.pi * self.viscosity
        far = math.log1p(1 / length**2)

        def seen(x: Float[Array, " dim"]) -> Float[Array, " 2"]:
            return jnp.stack([2 / far * jnp.log1p((x[0] / length) ** 2) - 1, 2 * x[1] - 1])

        def factor(x: Float[Array, " dim"]) -> Float[Array, ""]:
            return x[1] * (1 - x[0] ** 2) * x[0] / jnp.sqrt(x[0] ** 2 + length**2)

        return HardConstraint(MappedInput(net, seen), self.initial, factor)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        z = jnp.linspace(-_REACH, _REACH, _NODES, dtype=x.dtype)
        y = jnp.pi * (x[0] - 2 * jnp.sqrt(self.viscosity * x[1]) * z)
        weights = jax.nn.softmax(-jnp.cos(y) / (2 * jnp.pi * self.viscosity) - z * z)
        return -weights @ jnp.sin(y)

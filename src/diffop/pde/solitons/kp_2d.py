"""The Kadomtsev-Petviashvili equation."""

from typing import ClassVar, final

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from ...operators.base import Operator
from ...operators.elementary import Identity, Mixed, Partial
from ...scalars import plain
from ..domains.box import Box
from ..domains.domain import AbstractPart
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .hirota import Soliton
from .problem import AbstractSolitonProblem


@final
class KP2D(AbstractSolitonProblem):
    """Kadomtsev-Petviashvili, $(u_t + 6 u u_x + u_xxx)_x + 3σ² u_yy = 0$, crossing solitons.

    The solution is $2 ∂_x² log F$: for one wave $(k²/2) sech²(θ/2)$, $θ = kx + ly + ωt$ + phase
    with $ωk + k⁴ + 3σ²l² = 0$. By default there are two, with k = 1 and l = ±3/2: a cross whose
    arms are 3.5 wide in x (where they are half as high), and which moves by 11.6 along x, 3.3
    widths. Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "High-order
    PDEs".

    **Arguments:**

    - `domain`: where and how long, a `diffop.pde.SpaceTime` of a box with two coordinates of space.
    - `solitons`: a tuple of `diffop.pde.Soliton` with wavenumbers `(k, l)`, k ≠ 0.
    - `sigma_squared`: $σ²$, 1 for KP-II or −1 for KP-I.

    **Raises:** `ValueError` if domain and waves do not fit, or the waves have no regular
    superposition.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.KP2D(solitons=(do.pde.Soliton((1.5, 0.5)),), sigma_squared=-1)
        x = jnp.array([0.5, -1.0, 0.2])  # x, y and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "kp-2d"
    dim: ClassVar[int] = 3
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=3,
        steps=200,
        batch=200,
        width=64,
        depth=2,
        input_scale=2.0,
    )

    domain: SpaceTime = SpaceTime(Box((-7.0, -6.0), (7.0, 6.0)), 1.5)
    solitons: tuple[Soliton, ...] = eqx.field(
        static=True,
        converter=plain,
        default=(Soliton((1.0, 1.5), 5.8), Soliton((1.0, -1.5), 5.8)),
    )
    sigma_squared: int | float = eqx.field(static=True, converter=plain, default=1)

    def operators(self) -> PyTree:
        return {
            "u": Identity(),
            "u_x": Partial(0),
            "u_xx": Partial(0, 2),
            "linear": Mixed({0: 1, 2: 1}) + Partial(0, 4) + 3 * self.sigma_squared * Partial(1, 2),
        }

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        product = values["u_x"] ** 2 + values["u"] * values["u_xx"]
        return values["linear"] + 6 * product

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return 2 * self.tau().log_derivatives(x)[1]

    def bilinear(self, *wave_vector: float) -> float:
        k, l, omega = wave_vector  # noqa: E741
        return omega * k + k**4 + 3 * self.sigma_squared * l**2

    def slopes(self) -> tuple[tuple[Operator, AbstractPart], ...]:
        # Modes e^(st + κx + ily) of the linear part, sκ + κ⁴ = 3σ²l², have for large s three roots
        # κ³ ≈ −s, of which one decays into the domain from the lower end and two from the upper
        # end, and κ ≈ 3σ²l²/s, which decays from the upper end if σ² > 0. So beside u the equation
        # needs u_x at the upper end, and one datum more at the end that the fourth root belongs to.
        upper = (Partial(0), self.domain.face(0, "upper"))
        if self.sigma_squared > 0:
            return (upper, (Partial(0, 2), self.domain.face(0, "upper")))
        return (upper, (Partial(0), self.domain.face(0, "lower")))

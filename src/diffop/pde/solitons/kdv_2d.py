"""The Korteweg-de Vries equation in two dimensions of space."""

from typing import ClassVar, final

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from ...operators.base import Operator
from ...operators.elementary import Mixed, Partial
from ...scalars import plain
from ..domains.box import Box
from ..domains.domain import AbstractPart
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .hirota import Soliton
from .problem import AbstractSolitonProblem


@final
class KdV2D(AbstractSolitonProblem):
    """Korteweg-de Vries in 2D, $u_ty + u_xxxy + 3 (u_y u_x)_x − u_xx + 2 u_yy = 0$, crossing
    fronts.

    The solution is $2 ∂_x log F$: for one wave the front k $(1 + tanh(θ/2))$, $θ$ = kx + ly + $ωt$
    + phase with $ωl + k³l − k² + 2l² = 0$; its slope $u_x$ is a soliton. By default there are two,
    which cross in the middle of the box half way in time: with (k, l) = (1, 1) one that is 3.5 wide
    in x (where $u_x$ is half as high) and moves by 12 along x, 3.4 widths; with (1/2, 1) one that
    is 7.1 wide and moves by 22.5, 3.2 widths. Source: Shi et al. 2024, "Stochastic Taylor
    Derivative Estimator", appendix "High-order PDEs".

    **Arguments:**

    - `domain`: where and how long, a `diffop.pde.SpaceTime` of a box with two coordinates of space.
    - `solitons`: a tuple of `diffop.pde.Soliton` with wavenumbers `(k, l)`, l ≠ 0.

    **Raises:** `ValueError` if domain and waves do not fit, or the waves have no regular
    superposition.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        problem = do.pde.KdV2D(solitons=(do.pde.Soliton((1.0, 1.0), 6.0),))
        x = jnp.array([0.5, -1.0, 3.0])  # x, y and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "kdv-2d"
    dim: ClassVar[int] = 3
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=3,
        steps=200,
        batch=200,
        width=64,
        depth=2,
    )

    domain: SpaceTime = SpaceTime(Box((-12.0, -5.0), (12.0, 5.0)), 6.0)
    solitons: tuple[Soliton, ...] = eqx.field(
        static=True,
        converter=plain,
        default=(Soliton((1.0, 1.0), 6.0), Soliton((0.5, 1.0), 5.625)),
    )

    def operators(self) -> PyTree:
        return {
            "u_x": Partial(0),
            "u_y": Partial(1),
            "u_xx": Partial(0, 2),
            "u_xy": Mixed({0: 1, 1: 1}),
            "linear": Mixed({1: 1, 2: 1}) + Mixed({0: 3, 1: 1}) - Partial(0, 2) + 2 * Partial(1, 2),
        }

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        product = values["u_xy"] * values["u_x"] + values["u_y"] * values["u_xx"]
        return values["linear"] + 3 * product

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return 2 * self.tau().log_derivatives(x)[0]

    def bilinear(self, *wave_vector: float) -> float:
        k, l, omega = wave_vector  # noqa: E741
        return omega * l + k**3 * l - k**2 + 2 * l**2

    def slopes(self) -> tuple[tuple[Operator, AbstractPart], ...]:
        # Modes e^(st + κx + ily) of the linear part have κ³ ≈ −s for large s: one root decays into
        # the domain from the lower end, two from the upper end, which needs u_x beside u. Modes
        # e^(st + ikx + λy) have λ ≈ −s/2 and λ ≈ −k²/s, both decaying from the lower end: u_y.
        return (
            (Partial(0), self.domain.face(0, "upper")),
            (Partial(1), self.domain.face(1, "lower")),
        )

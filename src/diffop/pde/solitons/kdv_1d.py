"""The Korteweg-de Vries equation."""

from typing import ClassVar, final

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from ...operators.base import Operator
from ...operators.elementary import Identity, Partial
from ...scalars import plain
from ..domains.box import Box
from ..domains.domain import AbstractPart
from ..domains.space_time import SpaceTime
from ..recommended import LEAST_SQUARES, Recommended
from .hirota import Soliton
from .problem import AbstractSolitonProblem


@final
class KdV1D(AbstractSolitonProblem):
    """Korteweg-de Vries, $u_t + u u_x + α u_xxx = 0$ on an interval, a soliton passing through.

    The solution is $12α ∂_x² log F$: for one wave
    $3c sech²(½ √(c/α) (x − ct − x₀))$, with $c = αk²$ and $x₀$ = −phase/k. By default
    $c = α = 1$: the soliton is 3.5 wide (where it is half as high) and moves by 12, which is 3.4
    widths. Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "High-order
    PDEs", where the gradient of the residual is part of the loss (gPINN).

    **Arguments:**

    - `domain`: where and how long, a `diffop.pde.SpaceTime` of a box with one coordinate of space.
    - `solitons`: a tuple of `diffop.pde.Soliton` with wavenumbers `(k,)`.
    - `alpha`: $α$, positive.

    **Raises:** `ValueError` if $α$ is not positive, or domain and waves do not fit.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        overtaking = (do.pde.Soliton((1.4,), 10.0), do.pde.Soliton((0.7,), 1.0))
        problem = do.pde.KdV1D(solitons=overtaking)
        x = jnp.array([0.5, 3.0])  # x and t
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "g-kdv-1d"
    dim: ClassVar[int] = 2
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=160,
        batch=500,
        data_batch=80,
        data_weight=10.0,
        width=24,
        depth=2,
        input_scale=3.0,
    )

    domain: SpaceTime = SpaceTime(Box((-12.0,), (12.0,)), 12.0)
    solitons: tuple[Soliton, ...] = eqx.field(
        static=True, converter=plain, default=(Soliton((1.0,), 6.0),)
    )
    alpha: int | float = eqx.field(static=True, converter=plain, default=1.0)

    def __check_init__(self) -> None:
        if not self.alpha > 0:
            raise ValueError(f"{self.name} expects a positive alpha, got {self.alpha}.")

    def operators(self) -> PyTree:
        linear = Partial(1) + self.alpha * Partial(0, 3)
        return {"u": Identity(), "u_x": Partial(0), "linear": linear}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["linear"] + values["u"] * values["u_x"]

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return 12 * self.alpha * self.tau().log_derivatives(x)[1]

    def bilinear(self, *wave_vector: float) -> float:
        k, omega = wave_vector
        return omega * k + self.alpha * k**4

    def slopes(self) -> tuple[tuple[Operator, AbstractPart], ...]:
        # The linear part changes the difference v of two solutions by d/dt ½ ∫ v² =
        # α [v_x²/2 − v v_xx] at the ends. If v = 0 at both, only α v_x²/2 at the upper end grows.
        return ((Partial(0), self.domain.face(0, "upper")),)

"""A thin plate with edges of three kinds.

For the load sin πx the deflection is W(y) sin πx with

    D (W'''' − 2π² W'' + π⁴ W) = 1,
    W = 1/(Dπ⁴) + a cosh πy + b sinh πy + c πy cosh πy + d πy sinh πy,

which is simply supported where sin πx = 0 (Lévy). Four linear equations for a, b, c and d express
that the edge y = 0 is clamped and the edge y = 1 free.
"""

import math
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ..equations.sampled import AtPoints
from ..operators.base import Operator
from ..operators.elementary import Directional
from ..operators.laplacian import Biharmonic, Laplacian
from ..scalars import plain
from .conditions.base import Conditions
from .conditions.prescribed import Dirichlet, Neumann, Prescribed
from .domains.box import Box, Face
from .problem import AbstractSolvedProblem
from .recommended import LEAST_SQUARES, Recommended


@final
class Plate(AbstractSolvedProblem):
    """Kirchhoff's plate, $D Δ²w = sin πx$ on the unit square, edges supported, clamped and free.

    The edges x = 0 and x = 1 are simply supported, w = 0 and M = 0; y = 0 is clamped, w = 0 and
    $∂w/∂n = 0$; y = 1 is free, M = 0 and V = 0. With the outward normal n of a straight edge

        M = −D (ν Δw + (1 − ν) ∂²w/∂n²),   V = −D ∂/∂n (Δw + (1 − ν) (Δw − ∂²w/∂n²)),

    are the bending moment and Kirchhoff's effective shear force. $D = π⁻⁴$, so deflections are
    about 1. The null model is $y² sin πx$. Source: Timoshenko and Woinowsky-Krieger 1959, "Theory
    of plates and shells", chapter 6.

    **Arguments:**

    - `poisson`: ν, Poisson's ratio, at least 0 and below 1.

    **Raises:** `ValueError` if it is out of range.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        plate = do.pde.Plate()
        x = jnp.array([0.5, 0.2])
        values = do.exact(plate.operators())(plate.solution)(x)
        plate.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "plate"
    dim: ClassVar[int] = 2
    domain: ClassVar[Box] = Box((0.0, 0.0), (1.0, 1.0))
    rigidity: ClassVar[float] = math.pi**-4
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2,
        steps=120,
        batch=250,
        data_batch=40,
        data_weight=10.0,
        width=24,
        depth=2,
    )

    poisson: int | float = eqx.field(static=True, converter=plain, default=0.3)

    def __check_init__(self) -> None:
        if not 0 <= self.poisson < 1:
            raise ValueError(
                f"{self.name} expects a Poisson's ratio from 0 to below 1, got {self.poisson}."
            )

    def operators(self) -> PyTree:
        return Biharmonic()

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.rigidity * values - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sin(jnp.pi * x[0])

    def moment(self, edge: Face) -> Operator:
        """M at an edge."""
        across = Directional(edge.normal) ** 2
        return -self.rigidity * (self.poisson * Laplacian() + (1 - self.poisson) * across)

    def shear(self, edge: Face) -> Operator:
        """V at an edge."""
        normal = Directional(edge.normal)
        along = Laplacian() - normal**2
        return -self.rigidity * normal @ (Laplacian() + (1 - self.poisson) * along)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        left, right, clamped, free = self.domain.faces
        supported = [
            condition
            for edge in (left, right)
            for condition in (
                Dirichlet(0.0, on=edge),
                Prescribed(self.moment(edge), 0.0, on=edge),
            )
        ]
        return Conditions(
            *supported,
            Dirichlet(0.0, on=clamped),
            Neumann(0.0, on=clamped),
            Prescribed(self.moment(free), 0.0, on=free),
            Prescribed(self.shear(free), 0.0, on=free),
        )(key, count)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        a, b, c, d = self._coefficients()
        z = jnp.pi * x[1]
        even, odd = a * jnp.cosh(z) + d * z * jnp.sinh(z), b * jnp.sinh(z) + c * z * jnp.cosh(z)
        return (1 + even + odd) * jnp.sin(jnp.pi * x[0])

    def _coefficients(self) -> list[float]:
        """a, b, c and d, from W and its derivatives with respect to z = πy."""
        nu, z = self.poisson, math.pi
        cosh, sinh = math.cosh(z), math.sinh(z)
        # derivatives of cosh z, sinh z, z cosh z and z sinh z with respect to z, to the third order
        value = [cosh, sinh, z * cosh, z * sinh]
        slope = [sinh, cosh, cosh + z * sinh, sinh + z * cosh]
        second = [cosh, sinh, 2 * sinh + z * cosh, 2 * cosh + z * sinh]
        third = [sinh, cosh, 3 * cosh + z * sinh, 3 * sinh + z * cosh]
        matrix = np.array(
            [
                [1.0, 0.0, 0.0, 0.0],
                [0.0, 1.0, 1.0, 0.0],
                np.subtract(second, nu * np.array(value)),
                np.subtract(third, (2 - nu) * np.array(slope)),
            ]
        )
        return np.linalg.solve(matrix, np.array([-1.0, 0.0, nu, 0.0])).tolist()

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return x[1] * x[1] * jnp.sin(jnp.pi * x[0])

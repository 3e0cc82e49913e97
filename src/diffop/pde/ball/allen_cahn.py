"""The Allen-Cahn equation on the unit ball, with the two-body and the three-body solution."""

from typing import ClassVar, final

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from .. import _nonlinearities
from .problem import AbstractThreeBody, AbstractTwoBody, random_coefficients


@final
class AllenCahnTwoBody(AbstractTwoBody):
    """Allen-Cahn, Δu + u − u³ = f on the unit ball, u = 0 on the sphere, two-body solution.

    Solution, source and sampler are those of `diffop.pde.AbstractTwoBody`. Source: Shi et al. 2024,
    "Stochastic Taylor Derivative Estimator", appendix "Inseparable and effectively high-dimensional
    PDEs".

    **Arguments:**

    - `dim`: the number of coordinates d, at least 2.
    - `key`: a key from `jax.random.key`; it determines the solution's coefficients.

    **Raises:** `ValueError` if `dim` is less than 2.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.AllenCahnTwoBody(10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "allen-cahn-two-body"
    dim: int = eqx.field(static=True)
    coefficients: Float[Array, " terms"]

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        self.dim = dim
        self.coefficients = random_coefficients(self.name, dim, 2, key)

    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        return _nonlinearities.allen_cahn(u)


@final
class AllenCahnThreeBody(AbstractThreeBody):
    """Allen-Cahn, Δu + u − u³ = f on the unit ball, u = 0 on the sphere, three-body solution.

    Solution, source and sampler are those of `diffop.pde.AbstractThreeBody`. Source: Shi et al.
    2024, "Stochastic Taylor Derivative Estimator", appendix "Inseparable and effectively
    high-dimensional PDEs".

    **Arguments:**

    - `dim`: the number of coordinates d, at least 3.
    - `key`: a key from `jax.random.key`; it determines the solution's coefficients.

    **Raises:** `ValueError` if `dim` is less than 3.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.AllenCahnThreeBody(10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    name: ClassVar[str] = "allen-cahn-three-body"
    dim: int = eqx.field(static=True)
    coefficients: Float[Array, " terms"]

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        self.dim = dim
        self.coefficients = random_coefficients(self.name, dim, 3, key)

    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        return _nonlinearities.allen_cahn(u)

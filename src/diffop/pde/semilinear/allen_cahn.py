"""The parabolic Allen-Cahn equation."""

from typing import ClassVar, final

import jax.numpy as jnp
from jaxtyping import Array, Float

from .. import nonlinearities
from ..problem import Reference
from .problem import AbstractSemilinear

_PUBLISHED = {10: 0.89060, 100: 1.04510, 1000: 1.09100, 10_000: 1.11402}
_REL_ERROR = 1e-3
"""The largest error of values by the same method for the other equations."""


@final
class SemilinearAllenCahn(AbstractSemilinear):
    """Allen-Cahn, $u_t + Δu + u − u³ = 0$ with $u(x, T) = arctan(max_i x_i)$.

    Everything else is as for `diffop.pde.AbstractSemilinear`. The reference value $u(0, 0)$ is
    published, by multilevel Picard iterations, for T = 0.3 and d = 10, 100, 1000 and 10,000:
    0.89060, 1.04510, 1.09100 and 1.11402.

    Sources: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "Semilinear
    Parabolic PDEs"; Beck et al. 2021, "Deep splitting method for parabolic PDEs", for the values.

    **Arguments:** as for `diffop.pde.AbstractSemilinear`.

    !!! example

        ```python
        import diffop as do

        problem = do.pde.SemilinearAllenCahn(10)
        problem.reference().values  # [0.8906], at x = 0 and t = 0
        ```
    """

    name: ClassVar[str] = "semilinear-allen-cahn"

    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        return nonlinearities.allen_cahn(u)

    def terminal(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        return jnp.arctan(jnp.max(x))

    def reference(self) -> Reference:
        if self.space_dim not in _PUBLISHED or self.duration != 0.3:
            raise ValueError(
                f"{self.name} has reference values in {', '.join(map(str, _PUBLISHED))} dimensions "
                f"at duration 0.3, got {self.space_dim} dimensions and duration {self.duration}; "
                f"choose one of these to measure an error."
            )
        value = jnp.asarray([_PUBLISHED[self.space_dim]])
        return Reference(jnp.zeros((1, self.dim)), value, _REL_ERROR)

"""Several results together, in the form that rules for folx receive."""

from typing import NamedTuple, final

from jaxtyping import Array

from .arrays import FwdJacobian, FwdLaplArray


@final
class FwdLaplArgs(NamedTuple):
    """`folx.api.FwdLaplArgs`: arguments of a function, all with their derivatives.

    **Arguments:**

    - `arrays`: a tuple of [`diffop.compat.folx.api.FwdLaplArray`][].

    !!! example

        ```python
        import jax.numpy as jnp
        from diffop.compat import folx
        from diffop.compat.folx.api import FwdLaplArgs

        result = folx.forward_laplacian(lambda x: x**2)(jnp.ones(3))
        FwdLaplArgs((result,)).laplacian[0]  # [2, 2, 2]
        ```
    """

    arrays: tuple[FwdLaplArray, ...]

    @property
    def x(self) -> tuple[Array, ...]:
        return tuple(each.x for each in self.arrays)

    @property
    def jacobian(self) -> tuple[FwdJacobian, ...]:
        return tuple(each.jacobian for each in self.arrays)

    @property
    def dense_jacobian(self) -> tuple[Array, ...]:
        return tuple(each.dense_jacobian for each in self.arrays)

    @property
    def laplacian(self) -> tuple[Array, ...]:
        return tuple(each.laplacian for each in self.arrays)

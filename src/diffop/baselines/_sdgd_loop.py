"""Stochastic dimension gradient descent, one sampled coordinate after the other."""

from typing import ClassVar, final

from .._types import ScalarArray, Vector
from ..jets.probes import AbstractProbe, Sparse
from ._autodiff import AbstractAutodiff, reverse_over_reverse
from ._base import ScalarFunction
from ._directions import Weighted, looped


@final
class SDGDLoop(AbstractAutodiff):
    """`"sdgd-loop"`: as [`diffop.baselines.SDGD`][], the sampled coordinates one after the other in
    a loop (`jax.lax.scan`), as the method was first written.

    Unbiased. The memory of one coordinate, however many are sampled, also in training: what the
    derivative of a coordinate needs is computed again.

    Source: the appendix "PyTorch implementation of SDGD-PINN using backward mode AD" of Shi et al.
    2024, "Stochastic Taylor Derivative Estimator".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.baselines.estimate("sdgd-loop", do.Laplacian(), jax.random.key(0), 16)
        estimate(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "sdgd-loop"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Sparse()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return looped(reverse_over_reverse(u, x), weighted, x)

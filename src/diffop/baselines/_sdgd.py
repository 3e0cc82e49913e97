"""Stochastic dimension gradient descent, all sampled coordinates at once."""

from typing import ClassVar, final

from .._types import ScalarArray, Vector
from ..jets.probes import AbstractProbe, Sparse
from ._autodiff import AbstractAutodiff, reverse_over_reverse
from ._base import ScalarFunction
from ._directions import Weighted, mapped


@final
class SDGD(AbstractAutodiff):
    """`"sdgd"`: n of the d coordinates, their second derivatives by reverse over reverse mode, all
    at once (under `jax.vmap`), scaled by d/n.

    Unbiased. Two reverse passes for each coordinate, and arrays of n × d numbers.

    Sources: Hu, Shukla, Karniadakis and Kawaguchi 2024, "Tackling the curse of dimensionality with
    physics-informed neural networks"; in parallel as in the appendix "JAX implementation of SDGD
    Parallelization via HVP" of Shi et al. 2024, "Stochastic Taylor Derivative Estimator".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.baselines.estimate("sdgd", do.Laplacian(), jax.random.key(0), 16)
        estimate(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "sdgd"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Sparse()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return mapped(reverse_over_reverse(u, x), weighted, x)

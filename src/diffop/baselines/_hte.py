"""Hutchinson's trace estimator."""

from typing import ClassVar, final

from .._types import ScalarArray, Vector
from ..jets.probes import AbstractProbe, Rademacher
from ._autodiff import AbstractAutodiff, forward_over_reverse
from ._base import ScalarFunction
from ._directions import Weighted, mapped


@final
class HTE(AbstractAutodiff):
    """`"hte"`: Hutchinson's trace estimator, the mean of vᵀ (Hess u) v over n vectors v of random
    signs, by forward over reverse mode.

    Unbiased, with the variance 2/n Σ_{i≠j} H_ij². A Hessian-vector product for each v, and arrays
    of n × d numbers.

    Sources: Hutchinson 1989, "A stochastic estimator of the trace of the influence matrix"; Hu,
    Shi, Karniadakis and Kawaguchi 2024, "Hutchinson trace estimation for high-dimensional and
    high-order physics-informed neural networks".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        estimate = do.baselines.estimate("hte", do.Laplacian(), jax.random.key(0), 4)
        estimate(lambda x: jnp.sum(x**2))(jnp.zeros(100))  # 200.0
        ```
    """

    name: ClassVar[str] = "hte"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Rademacher()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return mapped(forward_over_reverse(u, x), weighted, x)

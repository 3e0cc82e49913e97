"""Second derivatives by forward over reverse mode."""

from typing import ClassVar, final

from .._types import ScalarArray, Vector
from ..jets.probes import AbstractProbe, Sparse
from ._autodiff import AbstractAutodiff, forward_over_reverse
from ._base import ScalarFunction
from ._directions import Weighted, mapped


@final
class ForwardOverReverse(AbstractAutodiff):
    """`"forward-over-reverse"`: n of the d coordinates, their second derivatives by `jax.jvp` of
    `jax.grad`, all at once, scaled by d/n.

    Unbiased. A Hessian-vector product for each coordinate, and arrays of n × d numbers.

    Source: the appendix "JAX implementation of Forward-over-backward AD" of Shi et al. 2024,
    "Stochastic Taylor Derivative Estimator".

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"u": do.Identity(), "lap": do.Laplacian()}
        joint = do.baselines.estimate("forward-over-reverse", ops, jax.random.key(0), 16)
        joint(lambda x: jnp.sum(x**2))(jnp.ones(100))  # {"u": 100.0, "lap": 200.0}
        ```
    """

    name: ClassVar[str] = "forward-over-reverse"
    random: ClassVar[bool] = True
    probe: ClassVar[AbstractProbe] = Sparse()

    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        return mapped(forward_over_reverse(u, x), weighted, x)

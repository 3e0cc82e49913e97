"""Conditions on values of which only an unbiased estimate is known, such as integrals."""

from collections.abc import Callable
from typing import TypeAlias, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..estimators.together import Joint
from ..operators.estimate import Estimate
from ..scalars import described
from .condition import Condition
from .matching import Matching
from .points import Points, as_arrays, at_each, check_arguments


@final
class Sampled(eqx.Module):
    """A condition on the mean of an estimate: `operator(u)(x) = v` at points x.

    The mean of the squared misfit of an estimate includes the variance of the draws. So the misfit
    here is that square minus an unbiased estimate of the variance, from the same draws. It may be
    negative, and is not a sum of squares, so least-squares methods cannot use it.

    - `operator`: an estimate with at least two draws.
    - `points`, `values`, `weight`: as for [`diffop.equations.Condition`][].

    **Raises:** `TypeError` for anything but an estimate.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        mass = do.Integral(do.quadrature.Limits(0.0, 1.0)).estimate(jax.random.key(0), 64)
        one = do.equations.Sampled(mass, jnp.zeros((1, 1)), jnp.ones(1))
        one.misfit(lambda x: 2 * x[0])  # 0 on average over keys
        ```
    """

    operator: Estimate
    points: Points = eqx.field(converter=as_arrays)
    values: Float[Array, "count ..."] = eqx.field(converter=as_arrays)
    weight: int | float = 1.0

    def __check_init__(self) -> None:
        if not isinstance(self.operator, Estimate):
            raise TypeError(
                "Sampled expects an estimate, such as diffop.Laplacian().estimate(key, n=2); got "
                f"{described(self.operator)}. Exact values are prescribed by a Condition."
            )

    def misfit(self, u: Callable) -> Float[Array, ""]:
        """An unbiased estimate of the misfit: the weight times the mean over the points of
        $|E[R] − v|²$, where $R$ are the estimates and $v$ the values.

        **Raises:** as `diffop.equations.Condition`, and `ValueError` for an estimate without a
        standard error.
        """
        check_arguments("u", u, self.points)
        square = Condition(self.operator, self.points, self.values, self.weight).misfit(u)
        draws = Joint(self.operator, None).draws(u)
        variance = at_each(lambda *point: draws(*point).variance(), self.points)
        spread = jnp.mean(jnp.sum(variance, axis=tuple(range(1, variance.ndim))))
        return square - self.weight * spread


AtPoints: TypeAlias = Condition | Matching | Sampled
"""Conditions that have points."""

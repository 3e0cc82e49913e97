"""The ansatz of problems whose solution is known up to a constant."""

from collections.abc import Callable
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..scalars import plain


@final
class LogGaussian(eqx.Module):
    """u(x) = −½ c |x|² + net(x) − net(0): the logarithm of a bell, corrected by a network.

    It is 0 at the origin, which fixes the constant. Far away it falls: the slopes of the network
    are bounded, so it cannot change that.
    """

    net: Callable
    curvature: int | float = eqx.field(static=True, converter=plain)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        bell = -0.5 * self.curvature * jnp.sum(x * x)
        return bell + self.net(x) - self.net(jnp.zeros_like(x))

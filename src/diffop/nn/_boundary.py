"""Ansätze: wrappers that make a network satisfy a boundary condition by construction."""

from collections.abc import Callable
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Inexact


@final
class ZeroOnUnitSphere(eqx.Module):
    """A network made zero on the unit sphere: `u(x) = (1 - |x|²) net(x)`.

    The boundary condition holds exactly, so no loss term has to enforce it. Source: Lu et al. 2021,
    "Physics-informed neural networks with hard constraints"; used for every problem on the unit
    ball in Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "Experiment setup".

    **Arguments:**

    - `net`: any callable from a point, shape `(d,)`, to an array of any shape, such as
        `equinox.nn.MLP`. Its array leaves stay learnable.

    **Returns:** called at a point `x` of shape `(d,)`, an array shaped like `net(x)`, zero wherever
    |x| = 1. Use `jax.vmap` for many points.

    **Raises:** `ValueError` if `x` is not a vector.

    !!! example

        ```python
        import equinox as eqx, jax, jax.numpy as jnp
        import diffop as do

        net = eqx.nn.MLP(3, "scalar", 16, depth=2, activation=jnp.tanh, key=jax.random.key(0))
        u = do.nn.ZeroOnUnitSphere(net)
        u(jnp.array([0.0, 0.6, 0.8]))  # 0 up to rounding
        ```
    """

    net: Callable

    def __call__(self, x: Inexact[Array, "*point"]) -> Inexact[Array, "*out"]:
        if x.ndim != 1:
            raise ValueError(
                f"ZeroOnUnitSphere expects one point of shape (d,), got shape {x.shape}; use "
                f"jax.vmap for many points."
            )
        return (1 - jnp.sum(x * x)) * self.net(x)

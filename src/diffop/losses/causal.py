"""Weights of a residual's squares that respect the order of time."""

import math
from collections.abc import Callable
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..equations.points import Points, at_each, check_arguments
from ..scalars import checked_integer, plain
from ..terms.shapes import check_shape


@final
class Causal(eqx.Module):
    """Weights that make a network learn an evolution in the order of time: later points count only
    as far as earlier points are solved.

    The points of a call are divided by their time into slices with equal numbers of points. With
    the mean square $L_k$ of the residual in slice k, the squares in slice i have the weight

        w_i = exp(−ε Σ_{k<i} L_k),

    which is 1 in the first slice. Weights are known numbers: they are not differentiated, and
    within a step of `diffop.methods.GaussNewton` they stay the same. With random jets they are
    those of the draw. Derivatives of the residual (gPINN) have the weights of their points.

    Source: Wang, Sankaran and Perdikaris 2022, "Respecting causality is all you need for training
    physics-informed neural networks", arXiv 2203.07404, which uses slices of space at given times.
    Slices of points that are random in time: Wang et al. 2023, "An expert's guide to training
    physics-informed neural networks", arXiv 2308.08468.

    **Arguments:**

    - `time`: a function of u's arguments at a point that returns a scalar, which grows along the
        order in which the solution is determined: `lambda x: x[-1]` with data at the first time,
        `lambda x, t: t` for $u(x, t)$, and `lambda x: -x[-1]` with data at the last time. A problem
        has it, as `problem.elapsed`.
    - `tolerance`: $ε$, positive. If it is too small, all weights are about 1. If it is too large, a
        slice counts only after all earlier slices have a mean square of less than $1/ε$.
    - `slices`: how many, at most one for each point.

    **Raises:** `ValueError` if `tolerance` is not positive or `slices` is less than 1; `TypeError`
    for slices that are not an integer.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.make("g-kdv-1d", key=jax.random.key(0))
        causal = do.losses.Causal(problem.elapsed, tolerance=1.0)
        loss = do.losses.ResidualLoss(problem, batch=64, probes="exact", causal=causal)
        loss(problem.solution, jax.random.key(1))
        ```
    """

    time: Callable
    tolerance: int | float = eqx.field(static=True, converter=plain, default=1.0)
    slices: int = eqx.field(static=True, converter=plain, default=32)

    def __check_init__(self) -> None:
        checked_integer(self.slices, "slices of Causal", 1)
        if not (self.tolerance > 0 and math.isfinite(self.tolerance)):
            raise ValueError(
                f"Causal expects a finite positive tolerance, got {self.tolerance}; leave causal "
                "weights out for all weights 1."
            )

    def weights(self, squares: Float[Array, " count"], points: Points) -> Float[Array, " count"]:
        """The weight of each point.

        **Arguments:**

        - `squares`: of the residual at the points.
        - `points`: the points.

        **Raises:** `ValueError` if the time is not a number, or takes other arguments.

        !!! example

            ```python
            import jax.numpy as jnp
            import diffop as do

            causal = do.losses.Causal(lambda x: x[-1], tolerance=1.0)
            causal.weights(jnp.array([1.0, 2.0]), jnp.array([[3.0], [0.0]]))  # [0.1353, 1.0]
            ```
        """
        check_arguments("the time", self.time, points)
        times = at_each(self.time, points)
        if times is None:
            raise ValueError(
                "causal weights expect the time of a point, got None, which is that of an equation "
                "without time; leave them out, or give Causal a function of the point."
            )
        check_shape("the time", times.shape[1:], "the order of points", ())
        count = len(squares)
        slices = min(self.slices, count)
        of_rank = np.arange(count) * slices // count
        which = jnp.zeros(count, int).at[jnp.argsort(times)].set(of_rank)
        counts = jnp.asarray(np.bincount(of_rank), squares.dtype)
        mine = which[None] == np.arange(slices)[:, None]
        # no scatter: of unequal parts on a mesh with two axes XLA adds some entries twice
        losses = jnp.sum(jnp.where(mine, squares[None], 0), axis=1) / counts
        before = jnp.concatenate([jnp.zeros(1, losses.dtype), jnp.cumsum(losses)[:-1]])
        return jax.lax.stop_gradient(jnp.exp(-self.tolerance * before)[which])

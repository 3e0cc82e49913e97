"""A periodic evolution equation in windows of time, each begun where the last one ended."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

import diffop as do

WEIGHT, DATA = 100.0, 100
"""Of the value at the beginning of a window in the loss, and at how many points."""


class Ended(eqx.Module):
    """The last value of a window, at any time: what the next one begins with."""

    u: Callable
    time: float

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.u(x.at[-1].set(self.time))


class Marched(eqx.Module):
    """All windows as one function; each has its own time."""

    windows: tuple[Callable, ...]
    duration: float

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        which = jnp.clip(x[-1] // self.duration, 0, len(self.windows) - 1)
        values = [u(x.at[-1].add(-number * self.duration)) for number, u in enumerate(self.windows)]
        return jnp.stack(values)[which.astype(int)]


def marched(
    problem: do.pde.AbstractPeriodic, settings: do.train.Settings, windows: int, key: PRNGKeyArray
) -> tuple[Marched, tuple[do.train.Fit, ...]]:
    """A problem solved in so many windows, each with as many steps and points, and a network of
    that size, by the method of Levenberg and Marquardt.

    **Arguments:**

    - `key`: of the network, the points and the steps.
    """
    ((lower, _), (upper, last)) = problem.domain.first, problem.domain.last
    line = do.pde.SpaceTime(problem.domain.space, last / windows)

    def loss(_: int, before: Callable | None) -> do.losses.ResidualLoss:
        start = problem.initial if before is None else Ended(before, line.duration)
        equation = do.equations.Equation(
            problem.operators(),
            problem.residual,
            conditions=do.pde.Conditions(do.pde.Initial(start, on=line)),
        )
        return do.losses.ResidualLoss(
            equation,
            settings.batch,
            probes="exact",
            points=line.sample,
            data_weight=WEIGHT,
            data_batch=DATA,
        )

    sizes = settings.width, settings.depth
    net = eqx.nn.MLP(problem.inputs, "scalar", *sizes, activation=jnp.tanh, key=key)
    scaled = do.nn.BoxInput(net, (0.0, -1.0, -1.0), (line.duration, 1.0, 1.0))
    u = do.nn.PeriodicInput(scaled, {0: upper - lower})
    optimiser = do.methods.GaussNewton(1e-2, adaptive=True, acceleration=True)
    fits = do.train.march(u, loss, optimiser, settings.steps, windows, key=key)
    return Marched(tuple(each.model for each in fits), line.duration), fits

"""A periodic evolution equation in windows of time, each begun where the last one ended."""

from collections.abc import Callable
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

import diffop as do
from diffop.pde.classical.evolution import periodic

WEIGHT, DATA = 100.0, 100
"""Of the value at the beginning of a window in the loss, and at how many points."""


class Ended(eqx.Module):
    """The last value of a window, at any time: what the next one begins with."""

    u: Callable
    time: float

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, "..."]:
        return self.u(x.at[-1].set(self.time))


class Marched(eqx.Module):
    """All windows as one function; each has its own time."""

    windows: tuple[Callable, ...]
    duration: float

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, "..."]:
        which = jnp.clip(x[-1] // self.duration, 0, len(self.windows) - 1)
        values = [u(x.at[-1].add(-number * self.duration)) for number, u in enumerate(self.windows)]
        return jnp.stack(values)[which.astype(int)]


def marched(
    problem: do.pde.AbstractPeriodic,
    settings: do.train.Settings,
    windows: int,
    key: PRNGKeyArray,
    first: int = 0,
) -> tuple[Marched, tuple[do.train.Fit, ...]]:
    """A problem solved in so many windows, each with as many steps and points, and a network of
    that size, by the method of Levenberg and Marquardt.

    **Arguments:**

    - `key`: of the network, the points and the steps.
    - `first`: if positive, the steps of the first window, whose network is in the problem's ansatz
        then: it may know how the solution begins.
    """
    line = do.pde.SpaceTime(problem.domain.space, problem.domain.duration / windows)
    sizes = settings.width, settings.depth
    net = eqx.nn.MLP(problem.inputs, problem.outputs, *sizes, activation=jnp.tanh, key=key)
    optimiser = do.methods.GaussNewton(1e-2, adaptive=True, acceleration=True)

    def loss(*conditions: do.pde.AbstractDrawnCondition) -> do.losses.ResidualLoss:
        equation = do.equations.Equation(
            problem.operators(), problem.residual, conditions=do.pde.Conditions(*conditions)
        )
        data = {"data_weight": WEIGHT, "data_batch": DATA} if conditions else {}
        return do.losses.ResidualLoss(
            equation, settings.batch, probes="exact", points=line.sample, **data
        )

    begun = ()
    if first:
        u = replace(problem, duration=line.duration).ansatz(net)
        begun = (do.train.fit(u, loss(), optimiser, first, key=key),)

    def following(_: int, before: Callable | None) -> do.losses.ResidualLoss:
        before = begun[0].model if before is None and begun else before
        start = problem.initial if before is None else Ended(before, line.duration)
        return loss(do.pde.Initial(start, on=line))

    rest = windows - len(begun)
    network = periodic(net, line)
    fits = begun + do.train.march(network, following, optimiser, settings.steps, rest, key=key)
    return Marched(tuple(each.model for each in fits), line.duration), fits

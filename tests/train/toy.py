"""What tests of training share: small problems, small runs, and what stops them."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import diffop as do

COUNTING = optax.stateless(lambda updates, _: jax.tree.map(jnp.ones_like, updates))
"""An optimiser that adds 1 at each step."""


class Killed(BaseException):
    """What a process feels of SIGKILL: nothing after it is done."""


def settings(**changes):
    """Those of a run that takes a moment."""
    small = {"dim": 4, "steps": 2, "n": 2, "width": 8, "depth": 1, "batch": 10}
    return do.train.Settings.of_paper("allen-cahn-two-body", **{**small, **changes})


def state(step, losses=None):
    """A state as a fit could have it."""
    losses = np.zeros(step, np.float32) if losses is None else np.asarray(losses, np.float32)
    return do.train.State(step, {"w": jnp.full(5, step / 7)}, (jnp.array(step),), losses, 1.5, 2.5)


class Noting(do.train.AbstractListener):
    """Notes what it is told, and raises something after a step."""

    def __init__(self, step=None, error=StopIteration):
        self.step, self.error = step, error
        self.told, self.resumed = [], None

    def after(self, state):
        self.told.append(state.step)
        if state.step == self.step:
            raise self.error

    def notes(self):
        return {"sum": sum(self.told) + (self.resumed or {"sum": 0})["sum"]}

    def resume(self, notes):
        self.resumed = notes

    def close(self, failed):
        self.told.append("failed" if failed else "closed")


class Poisson(do.pde.AbstractSolvedProblem):
    """u'' = f on [-1, 1]."""

    name: ClassVar[str] = "toy-poisson"
    dim: int = eqx.field(static=True, default=1)
    slope: Float[Array, ""] = eqx.field(default_factory=lambda: jnp.asarray(0.5))

    def operators(self):
        return do.Laplacian()

    def residual(self, values, x):
        return values - self.source(x)

    def source(self, x):
        return -2.0 - 6.0 * self.slope * x[0]

    def solution(self, x):
        return (1 - x[0] ** 2) * (1 + self.slope * x[0])

    def sample(self, key, count):
        return do.pde.unit_ball_by_radius(key, count, 1)

    def conditions(self, key, count):
        return ()

    def sections(self, resolution):
        return ()

    def ansatz(self, net):
        return do.nn.ZeroOnUnitSphere(net)

    def null_shape(self, x):
        return 1 - x[0] ** 2


class Wrapped(do.pde.AbstractSolvedProblem):
    """Another problem; subclasses change some of it."""

    name: ClassVar[str] = "wrapped"
    open: do.pde.AbstractSolvedProblem

    @property
    def dim(self):
        return self.open.dim

    def operators(self):
        return self.open.operators()

    def residual(self, values, x):
        return self.open.residual(values, x)

    def source(self, x):
        return self.open.source(x)

    def solution(self, x):
        return self.open.solution(x)

    def sample(self, key, count):
        return self.open.sample(key, count)

    def conditions(self, key, count):
        return self.open.conditions(key, count)

    def sections(self, resolution):
        return self.open.sections(resolution)

    def ansatz(self, net):
        return self.open.ansatz(net)

    def null_shape(self, x):
        return self.open.null_shape(x)


class Frozen(Wrapped):
    """A problem whose points are always the same, so that only jets are random."""

    def sample(self, key, count):
        return self.open.sample(jax.random.key(7), count)

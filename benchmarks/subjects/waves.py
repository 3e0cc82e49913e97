"""Kuramoto and Sivashinsky's equation in windows of time, by networks of time whose values are the
amplitudes of waves.

A chaotic equation multiplies what a window misses: by 1e4 or 1e5 from the first times to time 1. So
each window has to be accurate to seven digits, which networks of a point do not reach in minutes.

The initial value is odd about π/2, and u(π − x) = −u(x) stays true. So with y = x − π/2 there are
only sines, and a network of one input, the time, has as many values as there are sines:

    u(x, t) = u(x, 0) + t' Σ_k s_k a_k(t') sin ky,    s_k = 1 / (1/T + |λ_k|).

Here t' = t/T is the time in a window of length T, and λ_k the rate at which the linear part of the
equation changes a wave: in s_k, all a_k are of the size of a residual.
"""

import math
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

import diffop as do

from .windows import Marched

_DAMPING = 1e-10
_CENTRE = math.pi / 2
_STEEP = 1.5
"""The slope of units, of which there are many in a window."""


@final
class Sines(eqx.Module):
    """A sum of sines, at any time."""

    amplitudes: Float[Array, " waves"]

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.amplitudes @ _sines(len(self.amplitudes), x)


@final
class Waves(eqx.Module):
    """A sum of sines whose amplitudes are values of a network of time with one hidden layer. At
    time 0 they are 0.
    """

    first: eqx.nn.Linear
    last: eqx.nn.Linear
    duration: float = eqx.field(static=True)
    sizes: tuple[float, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return Sines(self.amplitudes(x[1]))(x)

    def amplitudes(self, time: Float[Array, ""]) -> Float[Array, " waves"]:
        turn = time / self.duration
        hidden = jnp.tanh(self.first(jnp.stack([2 * turn - 1])))
        return turn * jnp.asarray(self.sizes, time.dtype) * self.last(hidden)


@final
class Begun(eqx.Module):
    """What a window begins with, and how it goes on."""

    start: Sines
    change: Waves

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.start(x) + self.change(x)


@final
class Changed(eqx.Module):
    """The residual of what a window begins with and another function together."""

    problem: do.pde.KuramotoSivashinsky
    start: Sines

    def __call__(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        begun = do.exact(self.problem.operators())(self.start)(x)
        return self.problem.residual(jax.tree.map(jnp.add, begun, values), x)


def marched_waves(
    problem: do.pde.KuramotoSivashinsky,
    settings: do.train.Settings,
    windows: int,
    waves: int,
    key: PRNGKeyArray,
) -> tuple[Marched, tuple[do.train.Fit, ...]]:
    """The problem solved in so many windows, each with as many steps and points, and a hidden layer
    of that width, by the method of Levenberg and Marquardt.

    **Arguments:**

    - `waves`: how many sines.
    - `key`: of the network, the points and the steps.
    """
    line = do.pde.SpaceTime(problem.domain.space, problem.duration / windows)
    starts = [_begin(problem, waves)]

    def loss(_: int, before: Waves | None) -> do.losses.ResidualLoss:
        if before is not None:
            change = before.amplitudes(jnp.asarray(line.duration))
            starts.append(Sines(starts[-1].amplitudes + change))
        equation = do.equations.Equation(problem.operators(), Changed(problem, starts[-1]))
        return do.losses.ResidualLoss(equation, settings.batch, probes="exact", points=line.sample)

    optimiser = do.methods.GaussNewton(_DAMPING, adaptive=True)
    network = _network(problem, settings.width, waves, line.duration, key)
    fits = do.train.march(network, loss, optimiser, settings.steps, windows, key=key)
    functions = [Begun(start, fit.model) for start, fit in zip(starts, fits, strict=True)]
    return Marched(tuple(functions), line.duration), fits


def _network(
    problem: do.pde.KuramotoSivashinsky,
    width: int,
    waves: int,
    duration: float,
    key: PRNGKeyArray,
) -> Waves:
    """With units that bend at times all over the window, and waves that are 0."""
    first, last = eqx.nn.Linear(1, width, key=key), eqx.nn.Linear(width, waves, key=key)
    slopes = _STEEP + 0.5 * first.weight
    first = eqx.tree_at(
        lambda layer: (layer.weight, layer.bias),
        first,
        (slopes, -_STEEP * jnp.linspace(-1.0, 1.0, width)),
    )
    last = jax.tree.map(jnp.zeros_like, last)

    def rate(number: Float[Array, ""]) -> Float[Array, ""]:
        def wave(x: Float[Array, " dim"]) -> Float[Array, ""]:
            return jnp.cos(number * (x[0] - _CENTRE))

        crest = jnp.array([_CENTRE, 0.0])
        return do.exact(problem.operators())(wave)(crest)["linear"]

    rates = jax.vmap(rate)(jnp.arange(1.0, waves + 1))
    sizes = 1 / (1 / duration + jnp.abs(rates))
    return Waves(first, last, duration, tuple(sizes.tolist()))


def _begin(problem: do.pde.KuramotoSivashinsky, waves: int) -> Sines:
    """The initial value."""
    count = 2 * waves + 2
    places = _CENTRE + jnp.linspace(0.0, 2 * math.pi, count, endpoint=False)
    points = jnp.stack([places, jnp.zeros(count)], axis=1)
    series = jnp.fft.rfft(jax.vmap(problem.initial)(points)) / count
    return Sines(-2 * series[1 : waves + 1].imag)


def _sines(count: int, x: Float[Array, " dim"]) -> Float[Array, " waves"]:
    return jnp.sin(jnp.arange(1, count + 1, dtype=x.dtype) * (x[0] - _CENTRE))

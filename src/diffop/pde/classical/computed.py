"""Periodic evolution equations whose solution was computed by another program."""

from functools import cache
from pathlib import Path
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ...equations.sampled import AtPoints
from ..conditions.base import Conditions
from ..conditions.prescribed import Initial
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..problem import AbstractReferenceProblem, Reference
from .evolution import AbstractPeriodic

_DATA = Path(__file__).parent / "data"


class AbstractComputed(AbstractPeriodic, AbstractReferenceProblem):
    """A periodic evolution equation whose solution is known at a grid of times and places.

    The values are in a file of the package, `data/NAME.npz`, of shape `(times, …, *places)`, with
    the shape of u's values after the times: times from 0 to `known_to`, of which those of the
    domain count, and places from the lower ends on without the upper ones, which are the same.
    A program in `benchmarks/references/` computes them.

    `rel_error` is the accuracy of these values, relative to the largest.

    The initial value is a condition, whether or not the ansatz contains it: the null model is
    fitted to it.
    """

    rel_error: ClassVar[float] = 2e-9
    known_to: ClassVar[float] = 1.0

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(Initial(self.initial, on=self.domain))(key, count)

    def reference(self) -> Reference:
        u, (*lower, _), (*upper, last) = _known(self.name), self.domain.first, self.domain.last
        times = self._times()
        times = times[times <= last * (1 + 1e-9)]
        values, sizes = np.split(np.arange(1, u.ndim), [u.ndim - 1 - len(lower)])
        ends = zip(lower, upper, (u.shape[axis] for axis in sizes), strict=True)
        places = [np.linspace(a, b, size, endpoint=False) for a, b, size in ends]
        t, *x = np.meshgrid(times, *places, indexing="ij")
        points = np.stack([*x, t], axis=-1).reshape(-1, len(x) + 1)
        found = np.moveaxis(u[: len(times)], values, values + len(x))
        found = found.reshape(len(points), *found.shape[len(x) + 1 :])
        return Reference(jnp.asarray(points, float), jnp.asarray(found, float), self.rel_error)

    def _lasting(self, space: Box, duration: int | float) -> SpaceTime:
        """A space for so long, if its end is among the times, and not the first."""
        least = self._times()[1]
        if not least <= duration <= self.known_to:
            raise ValueError(
                f"{self.name} expects a duration from {least:g} to {self.known_to:g}, in which its "
                f"solution is known at several times, got {duration}."
            )
        return SpaceTime(space, duration)

    def _times(self) -> Float[np.ndarray, " times"]:
        return np.linspace(0.0, self.known_to, len(_known(self.name)))


@cache
def _known(name: str) -> Float[np.ndarray, "times ..."]:
    with np.load(_DATA / f"{name}.npz") as file:
        u = file["u"]
    u.setflags(write=False)
    return u

"""Periodic evolution equations whose solution was computed by another program."""

from pathlib import Path
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...equations.sampled import AtPoints
from ..conditions.base import Conditions
from ..conditions.prescribed import Initial
from ..problem import AbstractReferenceProblem, Reference
from .evolution import AbstractPeriodic

_DATA = Path(__file__).parent / "data"
_KNOWN_TO = 1.0
"""The last time in all files."""


class AbstractComputed(AbstractPeriodic, AbstractReferenceProblem):
    """A periodic evolution equation whose solution is known at a grid of times and places.

    The values are in a file of the package, `data/NAME.npz`, of shape `(times, places)`: times from
    0 to 1, of which those of the domain count, and places from the lower end on without the upper
    one, which is the same.
    `benchmarks/references/evolution.py` computes them.

    `rel_error` is the accuracy of these values, relative to the largest.

    The initial value is a condition, whether or not the ansatz contains it: the null model is
    fitted to it.
    """

    rel_error: ClassVar[float] = 2e-9

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(Initial(self.initial, on=self.domain))(key, count)

    def reference(self) -> Reference:
        with np.load(_DATA / f"{self.name}.npz") as file:
            u = file["u"]
        (lower, _), (upper, last) = self.domain.first, self.domain.last
        times = np.linspace(0.0, _KNOWN_TO, u.shape[0])
        times = times[times <= last * (1 + 1e-9)]
        places = np.linspace(lower, upper, u.shape[1], endpoint=False)
        t, x = np.meshgrid(times, places, indexing="ij")
        points = np.stack([x.ravel(), t.ravel()], axis=1)
        values = u[: len(times)].ravel()
        return Reference(jnp.asarray(points, float), jnp.asarray(values, float), self.rel_error)

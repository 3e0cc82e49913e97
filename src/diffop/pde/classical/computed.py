"""Periodic evolution equations whose solution was computed by another program."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ...equations.sampled import AtPoints
from ..conditions.base import Conditions
from ..conditions.prescribed import Initial
from ..problem import AbstractReferenceProblem, Reference
from .evolution import AbstractPeriodic

_DATA = Path(__file__).parent / "data"
_REL_ERROR = 2e-9
"""Results for KdV with 200 to 512 modes differ by up to 1e-9 of the largest value, as rounding
errors add up; those for Allen-Cahn by less.
"""


class AbstractComputed(AbstractPeriodic, AbstractReferenceProblem):
    """A periodic evolution equation whose solution is known at a grid of times and places.

    The values are in a file of the package, `data/NAME.npz`, of shape `(times, places)`: times from
    0 to the last one, and places from the lower end on without the upper one, which is the same.
    `benchmarks/references/evolution.py` computes them.

    The initial value is a condition, whether or not the ansatz contains it: the null model is
    fitted to it.
    """

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(Initial(self.initial, on=self.domain))(key, count)

    def reference(self) -> Reference:
        with np.load(_DATA / f"{self.name}.npz") as file:
            u = file["u"]
        (lower, _), (upper, last) = self.domain.first, self.domain.last
        times = np.linspace(0.0, last, u.shape[0])
        places = np.linspace(lower, upper, u.shape[1], endpoint=False)
        t, x = np.meshgrid(times, places, indexing="ij")
        points = np.stack([x.ravel(), t.ravel()], axis=1)
        return Reference(jnp.asarray(points, float), jnp.asarray(u.ravel(), float), _REL_ERROR)

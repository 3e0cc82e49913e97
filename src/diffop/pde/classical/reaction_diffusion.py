"""Reaction and diffusion in a periodic square, whose solution was computed by another program."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...equations.sampled import AtPoints
from ...operators.elementary import Identity, Partial
from ..conditions.base import Conditions
from ..conditions.prescribed import Initial
from ..domains.box import Box
from ..domains.space_time import SpaceTime
from ..problem import AbstractReferenceProblem, Reference

_DATA = Path(__file__).parent / "data"


class AbstractReactionDiffusion(AbstractReferenceProblem):
    """Two substances that react and diffuse in the square $[−1, 1]²$ with periodic sides, for
    points (x, y, t), known at a grid of times and places.

    The values are in a file of the package, `data/NAME.npz`, of shape `(times, 2, x, y)`: equally
    spaced times from 0 on, of which those of the domain count, and places from −1 on without 1,
    which is the same. `benchmarks/references/planes.py` computes them.

    The initial value is a condition, whether or not the ansatz contains it: the null model is
    fitted to it.

    - `duration`: the last time, a field of the subclass, at least the time between values.
    - `diffusions`: ε of both.
    - `known_to`, `step`: the last time in the file, and the time between two in it.
    - `rel_error`: the accuracy of the values, relative to the largest.
    """

    dim: ClassVar[int] = 3
    outputs: ClassVar[int | Literal["scalar"]] = 2
    diffusions: eqx.AbstractClassVar[tuple[float, float]]
    known_to: eqx.AbstractClassVar[float]
    step: eqx.AbstractClassVar[float]
    rel_error: eqx.AbstractClassVar[float]

    duration: eqx.AbstractVar[int | float]

    @abstractmethod
    def reaction(self, u: Float[Array, "2"]) -> Float[Array, "2"]:
        """Their rates of change without diffusion."""

    @abstractmethod
    def initial(self, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        """u(x, y, 0), for a point at any time."""

    def __check_init__(self) -> None:
        if not self.step <= self.duration <= self.known_to:
            raise ValueError(
                f"{self.name} expects a duration from {self.step} to {self.known_to:g}, in which "
                f"its solution is known at several times, got {self.duration}."
            )

    @property
    def domain(self) -> SpaceTime:
        return SpaceTime(Box((-1.0, -1.0), (1.0, 1.0)), self.duration)

    def operators(self) -> PyTree:
        return {"u": Identity(), "rate": Partial(2), "spread": Partial(0, 2) + Partial(1, 2)}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        diffusions = jnp.asarray(self.diffusions, x.dtype)
        return values["rate"] - diffusions * values["spread"] - self.reaction(values["u"])

    def source(self, x: Float[Array, " dim"]) -> Float[Array, "2"]:
        return jnp.zeros(2, x.dtype)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        return Conditions(Initial(self.initial, on=self.domain))(key, count)

    def reference(self) -> Reference:
        with np.load(_DATA / f"{self.name}.npz") as file:
            u = file["u"]
        times = self.step * np.arange(len(u))
        times = times[times <= self.duration * (1 + 1e-9)]
        places = np.linspace(-1, 1, u.shape[2], endpoint=False)
        t, x, y = np.meshgrid(times, places, places, indexing="ij")
        points = np.stack([x.ravel(), y.ravel(), t.ravel()], axis=1)
        values = np.moveaxis(u[: len(times)], 1, 3).reshape(-1, 2)
        return Reference(jnp.asarray(points, float), jnp.asarray(values, float), self.rel_error)

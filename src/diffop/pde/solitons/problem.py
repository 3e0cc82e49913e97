"""Evolution equations on a box of space that solitons solve."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...equations.condition import Condition
from ...nn import BoxInput
from ...operators.base import Operator
from ...operators.elementary import Identity
from .._problem import AbstractSolvedProblem, Section
from ..sampling.space_time import SpaceTimeBox
from .hirota import Tau, Wave, tau


class AbstractSoliton(AbstractSolvedProblem):
    """An equation without source in a box of space, from time 0 on, that solitons solve.

    The solution is known at time 0 and on the boundary of space, and is to be found in between: it
    is a derivative of log F (Hirota's method; F = 1 + e^θ for one soliton, a plane wave). Data are
    u(·, 0), u on the boundary of space, and those slopes on the boundary that the equation needs
    beside it.

    The null model is the initial profile, held still.

    A subclass is final, has the attributes below, and defines the equation, its `bilinear` form and
    its `slopes`.

    - `box`: a `diffop.pde.SpaceTimeBox`.
    - `waves`: a tuple of `diffop.pde.Wave`, one for each soliton.
    """

    box: eqx.AbstractVar[SpaceTimeBox]
    waves: eqx.AbstractVar[tuple[Wave, ...]]

    def __check_init__(self) -> None:
        sizes = {len(wave.wavenumber) + 1 for wave in self.waves}
        if sizes != {self.dim} or self.box.dim != self.dim:
            raise ValueError(
                f"{self.name} expects at least one wave, and waves and a box with "
                f"{self.dim - 1} coordinates of space, got waves={self.waves} and box={self.box}."
            )
        self.tau()

    @abstractmethod
    def bilinear(self, *wave_vector: float) -> float:
        """The polynomial P of the equation's bilinear form at (k, …, ω); it is linear in ω."""

    @abstractmethod
    def slopes(self) -> tuple[tuple[Operator, int, bool], ...]:
        """The derivatives known on faces of the box: operator, axis, and whether the upper end."""

    def tau(self) -> Tau:
        """Hirota's F."""
        return tau(self.bilinear, self.waves)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return self.box.sample(key, count)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[Condition, ...]:
        slopes = self.slopes()
        initial_key, boundary_key, *slope_keys = jax.random.split(key, 2 + len(slopes))
        return (
            self._condition(Identity(), self.box.initial(initial_key, count)),
            self._condition(Identity(), self.box.boundary(boundary_key, count)),
            *(
                self._condition(operator, self.box.face(slope_key, count, axis, upper))
                for slope_key, (operator, axis, upper) in zip(slope_keys, slopes, strict=True)
            ),
        )

    def _condition(self, operator: Operator, points: Float[Array, "count dim"]) -> Condition:
        return Condition(operator, points, jax.vmap(operator.exact(self.solution))(points))

    def ansatz(self, net: Callable) -> Callable:
        return BoxInput(net, self.box.first, self.box.last)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.solution(x.at[-1].set(0.0))

    def sections(self, resolution: int) -> tuple[Section, ...]:
        return self.box.sections(resolution)

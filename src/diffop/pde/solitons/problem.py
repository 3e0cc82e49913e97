"""Evolution equations on a box of space that solitons solve."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...equations.sampled import AtPoints
from ...nn import BoxInput
from ...operators.base import Operator
from ...operators.elementary import Identity
from ..conditions.base import Conditions
from ..conditions.prescribed import Prescribed
from ..domains.domain import AbstractPart
from ..domains.space_time import SpaceTime
from ..problem import AbstractSolvedProblem, Section
from .hirota import Tau, Wave, tau


class AbstractSoliton(AbstractSolvedProblem):
    """An equation without source in a box of space, from time 0 on, that solitons solve.

    The solution is known at time 0 and on the boundary of space, and is to be found in between: it
    is a derivative of log F (Hirota's method; $F = 1 + e^θ$ for one soliton, a plane wave). Data
    are u(·, 0), u on the boundary of space, and those slopes on the boundary that the equation
    needs beside it.

    The null model is the initial profile, held still.

    A subclass is final, has the attributes below, and defines the equation, its `bilinear` form and
    its `slopes`.

    - `box`: a `diffop.pde.SpaceTime` of a `diffop.pde.Box`.
    - `waves`: a tuple of `diffop.pde.Wave`, one for each soliton.
    """

    box: eqx.AbstractVar[SpaceTime]
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
        """The polynomial P of the equation's bilinear form at $(k, …, ω)$; it is linear in $ω$."""

    @abstractmethod
    def slopes(self) -> tuple[tuple[Operator, AbstractPart], ...]:
        """The derivatives that are known on faces of the box, and on which."""

    def tau(self) -> Tau:
        """Hirota's F."""
        return tau(self.bilinear, self.waves)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return self.box.sample(key, count)

    def elapsed(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return x[-1]

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        known = [(Identity(), self.box.initial), (Identity(), self.box.boundary), *self.slopes()]
        return Conditions(
            *(
                Prescribed(operator, operator.exact(self.solution), on=part)
                for operator, part in known
            )
        )(key, count)

    def ansatz(self, net: Callable) -> Callable:
        return BoxInput(net, self.box.first, self.box.last)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.solution(x.at[-1].set(0.0))

    def sections(self, resolution: int) -> tuple[Section, ...]:
        return self.box.sections(resolution)

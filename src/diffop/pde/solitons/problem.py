"""The base class of evolution equations on a box of space with soliton solutions."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...equations.sampled import AtPoints
from ...operators.base import Operator
from ...operators.elementary import Identity
from ..conditions.base import Conditions
from ..conditions.prescribed import Prescribed
from ..domains.domain import AbstractPart
from ..domains.space_time import SpaceTime
from ..problem import AbstractSolvedProblem
from .hirota import Soliton, Tau, tau


class AbstractSolitonProblem(AbstractSolvedProblem):
    """An equation without source in a box of space, from time 0 on, with soliton solutions.

    The solution is known at time 0 and on the boundary of space. It is a derivative of log F
    (Hirota's method; $F = 1 + e^θ$ for one soliton, a plane wave). Data are u(·, 0), u on the
    boundary of space, and those slopes on the boundary that the equation needs as well.

    The null model is the initial profile at all times.

    A subclass is final, has the attributes below, and defines the equation, its `bilinear` form and
    its `slopes`.

    - `domain`: a `diffop.pde.SpaceTime` of a `diffop.pde.Box`.
    - `solitons`: a tuple of `diffop.pde.Soliton`, one for each soliton.
    """

    domain: eqx.AbstractVar[SpaceTime]
    solitons: eqx.AbstractVar[tuple[Soliton, ...]]

    def __check_init__(self) -> None:
        sizes = {len(soliton.wavenumber) + 1 for soliton in self.solitons}
        if sizes != {self.dim} or self.domain.dim != self.dim:
            raise ValueError(
                f"{self.name} expects at least one soliton, and solitons and a domain with "
                f"{self.dim - 1} coordinates of space, got solitons={self.solitons} and "
                f"domain={self.domain}."
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
        return tau(self.bilinear, self.solitons)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        known = [
            (Identity(), self.domain.initial),
            (Identity(), self.domain.boundary),
            *self.slopes(),
        ]
        return Conditions(
            *(
                Prescribed(operator, operator.exact(self.solution), on=part)
                for operator, part in known
            )
        )(key, count)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.solution(x.at[-1].set(0.0))

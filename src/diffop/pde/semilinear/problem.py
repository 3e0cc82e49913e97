"""The base class of semilinear parabolic equations."""

import math
from abc import abstractmethod
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...equations.sampled import AtPoints
from ...operators.elementary import Identity, Partial
from ...operators.laplacian import Laplacian
from ...operators.vector import Gradient
from ...scalars import plain
from ..conditions.base import Conditions
from ..conditions.prescribed import Dirichlet, Prescribed
from ..domains.domain import AbstractPart
from ..problem import AbstractReferenceProblem
from ..recommended import MUON, Recommended
from ..sampling.brownian import brownian_marginals
from ..sampling.normal import normal
from ..whole_space import AbstractWholeSpace

_GRADIENT_WEIGHT = 0.05

PAPER = Recommended(
    dim=10,
    n=10,
    batch=2000,
    data_batch=100,
    width=1024,
    data_weight=20.0,
    schedule="exponential",
)
"""This network takes hours without an accelerator."""


@final
class _End(AbstractPart):
    """All of space at the last time, with points where the particle is then."""

    space_dim: int = eqx.field(static=True, converter=plain)
    duration: int | float = eqx.field(static=True, converter=plain)

    @property
    def normal(self) -> None:
        """None: it is not a boundary of space."""

    @property
    def across(self) -> None:
        """None: nothing is periodic."""

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        """`count` points (x, T) with x ~ N(0, 2T I)."""
        x = math.sqrt(2 * self.duration) * normal(key, (count, self.space_dim))
        return jnp.append(x, jnp.full((count, 1), self.duration), axis=1)


class AbstractSemilinear(AbstractWholeSpace, AbstractReferenceProblem):
    """$u_t + Δu + g(u) = 0$ in all of space for 0 ≤ t < T, with $u(x, T) = h(x)$. The wanted value
    is $u(0, 0)$.

    Points are places of the particle of `diffop.pde.brownian_marginals`, which starts at the wanted
    point. Data are h and, with weight 0.05, its gradient, at places of the particle at time T;
    beside the residual they have the weight 20.

    The null model is the constant that fits h best at these places. The mean of h there,
    $E[h(√2 W_T)]$, would be $u(0, 0)$ without g.

    Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendices "Semilinear
    Parabolic PDEs" and "Experiment setup", where time runs backwards: $u(x, T − t)$ solves
    $u_t = Δu + g(u)$ with $u(x, 0) = h(x)$, and is wanted at (0, T). The settings of the
    paper (`diffop.pde.paper`) are for a GPU; the recommended settings take seconds without one.

    A subclass is final, has a `name`, and defines `nonlinearity`, `terminal` and `reference`.

    **Arguments:**

    - `space_dim`: the dimension d of space, at least 1. Points have d + 1 coordinates.
    - `duration`: T, positive; 0.3 by default.

    **Raises:** `ValueError` if `space_dim` is less than 1 or `duration` is not positive.
    """

    recommended: ClassVar[Recommended] = MUON(
        dim=10,
        steps=4000,
        n=10,
        batch=100,
        data_batch=100,
        data_weight=20.0,
    )

    duration: int | float = eqx.field(static=True, converter=plain, default=0.3)

    @abstractmethod
    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        """The equation's $g(u)$."""

    @abstractmethod
    def terminal(self, x: Float[Array, " space"]) -> Float[Array, ""]:
        """$h(x)$, the value at the last time, at a point of space."""

    def operators(self) -> PyTree:
        return {
            "u": Identity(),
            "u_t": Partial(self.space_dim),
            "lap": Laplacian(dims=self.space),
        }

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["u_t"] + values["lap"] + self.nonlinearity(values["u"])

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return brownian_marginals(key, count, self.space_dim, self.duration)

    def elapsed(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return self.duration - x[-1]

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        end, slope = _End(self.space_dim, self.duration), jax.grad(self.terminal)
        return Conditions(
            Dirichlet(lambda x: self.terminal(x[:-1]), on=end),
            Prescribed(
                Gradient(dims=self.space), lambda x: slope(x[:-1]), on=end, weight=_GRADIENT_WEIGHT
            ),
        )(key, count)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.ones((), x.dtype)

"""Semilinear equations on the unit ball, whose solutions are sums over neighbouring coordinates."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ...nn import ZeroOnUnitSphere
from ...operators.elementary import Identity
from ...operators.laplacian import Laplacian
from ...streams import checked_key, stream
from ..problem import AbstractSolvedProblem, Section
from ..sampling.ball import unit_ball_by_radius

_PAIRS = 8
"""The number of points (and as many opposites) from which the source's size and sign are estimated.
In many dimensions its values are nearly alike, and terms linear in the coordinates cancel in pairs.
"""

_ITERATIONS = 10
"""The number of steps that find one number to float32 precision, from the linear equation's."""


class AbstractBallProblem(AbstractSolvedProblem):
    """$Δu + g(u) = f$ on the unit ball, u = 0 on the sphere, with the solution
    $u = (1 − |x|²) S(x)$.

    The source f is computed in closed form, in $O(d)$, from S, $x·∇S$ and $ΔS$. The coordinates of
    a point of the ball are about $1/√d$, so in high dimension the solution is nearly a constant
    times $1 − |x|²$: compare errors with those of this null model.

    [`diffop.pde.ManyBody`][] has three g and two S. Another subclass is final, has a `name` and a
    dimension `dim`, and defines `nonlinearity`, the function g, `sum` and `sum_terms`.
    """

    dim: eqx.AbstractVar[int]

    @abstractmethod
    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        """The equation's $g(u)$."""

    @abstractmethod
    def sum(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """$S(x)$."""

    @abstractmethod
    def sum_terms(
        self, x: Float[Array, " dim"], w: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """$S(x)$ and $w ΔS(x) − 4 x·∇S(x)$, for x in the unit ball and $w = 1 − |x|²$."""

    def operators(self) -> PyTree:
        return {"u": Identity(), "lap": Laplacian()}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return values["lap"] + self.nonlinearity(values["u"]) - self.source(x)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        # With w = 1 − |x|² and S the sum, u = wS, ∇w = −2x and Δw = −2d, so
        # Δu = w ΔS + 2 ∇w·∇S + S Δw = w ΔS − 4 x·∇S − 2d S.
        w = 1 - jnp.sum(x * x)
        total, derivatives = self.sum_terms(x, w)
        return derivatives - 2 * self.dim * total + self.nonlinearity(w * total)

    def solution(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return (1 - jnp.sum(x * x)) * self.sum(x)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        return unit_ball_by_radius(key, count, self.dim)

    def location(self, key: PRNGKeyArray) -> Float[Array, ""]:
        return self._nearest(key)[0]

    def magnitude(
        self, key: PRNGKeyArray, location: int | float | Float[Array, ""] = 0.0
    ) -> Float[Array, ""]:
        c, left = self._nearest(key)
        return jnp.hypot(c - location, left)

    def _nearest(self, key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The c for which c (1 − |x|²) misses the equation least, also for nonlinear equations; and
        the root mean square of the changes of c that would satisfy it at one of the points.
        """
        x = self.sample(key, _PAIRS)
        x = jnp.concatenate([x, -x])
        f, shape = (jax.lax.map(g, x) for g in (self.source, self.null_shape))

        # in units of −2d, since Δ(c (1 − |x|²)) = −2dc
        def missed(c: Float[Array, ""]) -> Float[Array, " points"]:
            return c - (jax.vmap(self.nonlinearity)(c * shape) - f) / (2 * self.dim)

        def linear(c: Float[Array, ""]) -> tuple[Float[Array, " points"], Float[Array, " points"]]:
            return jax.jvp(missed, (c,), (jnp.ones_like(c),))

        def improved(_: Int[Array, ""], c: Float[Array, ""]) -> Float[Array, ""]:
            r, slope = linear(c)
            better = c - (slope @ r) / (slope @ slope)
            return jnp.where(jnp.sum(missed(better) ** 2) < jnp.sum(r**2), better, c)

        # Gauss-Newton from the c of the linear equation; a step is taken if it misses by less
        c = jax.lax.fori_loop(0, _ITERATIONS, improved, jnp.mean(f) / (-2 * self.dim))
        r, slope = linear(c)
        changes = jnp.where(slope == 0, 0, r / slope)  # no change if c has no influence
        return c, jnp.sqrt(jnp.mean(changes**2))

    def ansatz(self, net: Callable) -> Callable:
        return ZeroOnUnitSphere(net)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return 1 - jnp.sum(x * x)

    def sections(self, resolution: int) -> tuple[Section, ...]:
        return ()  # random points are far from any plane in high dimension


def random_coefficients(
    name: str, dim: int, bodies: int, key: PRNGKeyArray
) -> Float[Array, " terms"]:
    """c ~ N(0, 1), one for each `bodies` neighbouring coordinates."""
    if dim < bodies:
        raise ValueError(
            f"{name} expects a dimension of at least {bodies}, got {dim}; its solution couples "
            f"neighbouring coordinates."
        )
    key = checked_key(key, f"the solution of {name}")
    return jax.random.normal(stream(key, "coefficients"), (dim - bodies + 1,))

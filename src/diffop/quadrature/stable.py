"""The jumps of isotropic stable processes, whose generator is the fractional Laplacian.

In d coordinates, for 0 < α < 2,

    −(−Δ)^{α/2} u(x) = ∫ (u(x + z) − u(x) − z·∇u(x) 1_{|z|<R}) ν(dz),     ν(dz) = C |z|^{−d−α} dz,
    C = 2^α Γ((d + α)/2) / (π^{d/2} |Γ(−α/2)|)

(Kwaśnicki 2017, "Ten equivalent definitions of the fractional Laplace operator"), for any R: ν is
symmetric, so the integral of z·∇u between two radii is 0. In polar coordinates z = rθ, with the
area S = 2 π^{d/2}/Γ(d/2) of the sphere,

    ν(dz) = K r^{−1−α} dr E_θ,      K = C S = 2^{α+1} Γ((d + α)/2) / (Γ(d/2) |Γ(−α/2)|).

- Small jumps, r < R: |z|² ν has the density K r^{1−α}, the mass K R^{2−α}/(2 − α), and the
    distribution function (r/R)^{2−α}: r = R U^{1/(2−α)}.
- Large jumps, r > R: ν has the mass K R^{−α}/α and the tail (R/r)^α: r = R U^{−1/α}.

K grows as d^{α/2}, while E_θ[∂_θ² u] is Δu/d, so both parts stay finite in many dimensions. As α
tends to 2 all mass is in small jumps, and K/(2 − α) tends to 2 d: the estimate becomes d ∂_θ² u, an
estimate of the Laplacian. Tempering multiplies ν by exp(−λ r), which is a weight.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Shaped

from ..scalars import is_number, plain
from ..streams import stream
from ..versions import varying_axes
from .jumps import AbstractJumps, Jump
from .values import number_at

Radius: TypeAlias = int | float | Shaped[Array, ""] | Callable[..., Any]
"""A positive number, or a function of the point."""


_NOT_POSITIVE = (
    "the radius of small jumps must be positive at each point; got 0 or less. It is the distance "
    "to where u has no second derivatives, such as lambda x: 1 - jnp.linalg.norm(x) inside the "
    "unit ball."
)


@final
class StableJumps(AbstractJumps):
    """The measure $C |z|^{−d−α} exp(−λ|z|) dz$, whose generator is minus the fractional Laplacian
    for $λ = 0$.

    **Arguments:**

    - `alpha`: $α$, between 0 and 2.
    - `radius`: the radius between small and large jumps: positive, a number or a function of the
        point that is positive there. u must have two derivatives within this distance of the
        point. The integral does not depend on it.
    - `tempering`: $λ$, at least 0.

    **Raises:** `ValueError` for numbers out of range; where an integral is evaluated, a runtime
    error for a radius that is not positive at the point, by `equinox.error_if`. If the radius
    differs between the devices of a `jax.shard_map`, the estimate is NaN instead.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        tempered = do.JumpGenerator(do.quadrature.StableJumps(1.5, radius=1.0, tempering=0.1))
        E = tempered.estimate(jax.random.key(0), 64)
        E(lambda x: jnp.exp(-x @ x))(jnp.zeros(100))
        ```
    """

    alpha: int | float = eqx.field(static=True, converter=plain)
    radius: Radius = eqx.field(converter=plain, kw_only=True)
    tempering: int | float = eqx.field(static=True, converter=plain, default=0.0, kw_only=True)
    symmetric: bool = eqx.field(static=True, init=False, default=True)

    def __check_init__(self) -> None:
        if not (is_number(self.alpha) and 0 < self.alpha < 2):
            raise ValueError(
                "the order alpha of a fractional Laplacian is between 0 and 2, both excluded; got "
                f"{self.alpha!r}. For 2 take -diffop.Laplacian(), for 0 diffop.Identity()."
            )
        radius: Any = self.radius
        wrong = is_number(radius) and not 0 < radius < math.inf
        if wrong or isinstance(self.radius, str):
            raise ValueError(
                f"the radius of small jumps must be positive and finite; got {self.radius!r}."
            )
        if not (is_number(self.tempering) and 0 <= self.tempering < math.inf):
            raise ValueError(f"tempering must be finite and at least 0; got {self.tempering!r}.")

    def small(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> Jump:
        """A radius of density $r^{1−α}$ below the dividing one."""
        radius, power = self._radius(args, kwargs), 2 - self.alpha
        share = _positive_uniform(stream(key, "small radius"))
        mass = _constant(self.alpha, size) / power * radius**power
        return self._tempered(key, size, radius * share ** (1 / power), mass)

    def large(self, key: PRNGKeyArray, size: int, *args: Any, **kwargs: Any) -> Jump:
        """A radius of density $r^{−1−α}$ above it, whose square is in the range of numbers."""
        radius = self._radius(args, kwargs)
        share = _positive_uniform(stream(key, "large radius"))
        mass = _constant(self.alpha, size) / self.alpha * radius**-self.alpha
        longest = math.sqrt(float(jnp.finfo(radius.dtype).max)) / 2
        # in two steps: the derivative of ∞ · radius with respect to the radius would be ∞
        ratio = jnp.minimum(share ** (-1 / self.alpha), longest)
        return self._tempered(key, size, jnp.minimum(radius * ratio, longest), mass)

    def _radius(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Float[Array, ""]:
        """The radius at a point."""
        radius = number_at(self.radius, args, kwargs, "the radius of small jumps")
        if is_number(self.radius):
            return radius
        if varying_axes(radius):
            # a device that stops with an error never comes to the sums over devices, in which the
            # others wait for it; so here the estimate becomes NaN
            return jnp.where(radius > 0, radius, jnp.nan)
        return eqx.error_if(radius, ~(radius > 0), _NOT_POSITIVE)

    def _tempered(
        self, key: PRNGKeyArray, size: int, length: Float[Array, ""], mass: Float[Array, ""]
    ) -> Jump:
        normal = jax.random.normal(stream(key, "direction of a jump"), (size,))
        direction = normal / jnp.linalg.norm(normal)
        weight = mass * jnp.exp(-self.tempering * length) if self.tempering else mass
        return Jump(direction, length, weight)


def _positive_uniform(key: PRNGKeyArray) -> Float[Array, ""]:
    """A number in (0, 1]: 0 has no negative power."""
    return 1 - jax.random.uniform(key)


def _constant(alpha: float, size: int) -> float:
    """K."""
    logarithm = math.lgamma((size + alpha) / 2) - math.lgamma(size / 2) - math.lgamma(-alpha / 2)
    return math.exp(logarithm + (alpha + 1) * math.log(2))

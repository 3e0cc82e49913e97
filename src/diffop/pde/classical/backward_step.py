"""The flow in a channel behind a step.

It enters above the edge (0, 0) of the step with the stream function g(y) = 6y² − 8y³, and the face
of the step, below the edge, has g = 0. So g'' jumps at the edge. For every harmonic function h with
h = g at x = 0, the function h − x h_x is biharmonic, g at x = 0, and has no slope across x = 0. Of
z = x + iy,

    h = Re (2/π) (3i − 4z) z² log(iz),

since log(iz) has the imaginary part φ = π/2 + atan2(y, x), which is 0 below the edge and π above.
That gives, with the distance r from the edge,

    E = ((6r² − 8y (3x² + y²)) φ + 6xy − 8xy² + 8x³ (1 + log r²))/π.

Let I be the cubic polynomial in y that has the values and the slopes of E at the walls; where x = 0
it is the stream function P of the outflow. So E − I is 0 with its slopes at the walls, and g − P at
x = 0. It falls like 1/x, since E grows like the cube of the distance, and a cubic polynomial misses
the fourth derivatives of E. What E lacks near the edge begins with x², and then with r⁴: there u is
like r and ∇ω like 1/r, so u·∇ω is bounded.
"""

import math
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...equations.sampled import AtPoints
from ...nn import HardConstraint, MappedInput
from ...operators.elementary import Partial
from ...operators.vector import Gradient
from ...scalars import is_number, plain
from ..conditions.base import Conditions
from ..conditions.prescribed import Prescribed
from ..domains.box import Box
from ..problem import AbstractReferenceProblem, Reference
from ..recommended import LEAST_SQUARES, Recommended
from .stream_function import LAPLACIAN, carried, carrying, velocities

_KNOWN: dict[int | float, float] = {200: 1e-6}
"""Where velocities are, and how far those of fewer splines are from them."""

_DEFAULT = 200
_WALLS = (-0.5, 0.5)
_EDGE = 0.2
"""The distance from the edge within which residuals count less, and from the inflow within which
the network sees more.
"""

_SIZE = 0.1
"""Of what the stream function lacks."""

_PLACES = 2000


@final
class BackwardStep(AbstractReferenceProblem):
    """Navier-Stokes, $Re (ψ_y ∂_x − ψ_x ∂_y) Δψ = Δ²ψ$ in a channel behind a step.

    The unknown is the stream function ψ of a steady flow without compression, whose velocity is
    $(ψ_y, −ψ_x)$. As in Gartling's test the channel has height 1, from y = −½ to ½, and the flow
    enters at x = 0 above the step, with $u = 24y (½ − y)$ and the mean velocity 1. The face of the
    step, below y = 0, and the walls are at rest. At the other end the flow is Poiseuille's,
    $u = 3 (¼ − y²)$. There is a reason for each number. With Re = 200 the flow behind the step is
    2.7 long and easily told from Stokes' flow, and networks of the literature are trained on it;
    Gartling has 800, and the outflow free of stress at x = 30. The length is Re/10, so long that
    Poiseuille's flow is reached: a unit before the end velocities differ from it by 4e-6. So the
    condition there makes no layer.

    The ansatz has these velocities:

        ψ₀ + 0.1 x²/(1 + x²) s²/(1 + s²) (1 − 4y²)² net(x', 2y),
        ψ₀ = ¼ + ¾y − y³ + (1 − x/L)² (1 + 2x/L) (E − I),    s = L − x,

    where E is the biharmonic function in x > 0 with the stream function of the inflow, and the
    jump of its second derivative at the edge of the step. I is the cubic polynomial in y with E's
    values and slopes at the walls. The network sees $x' ~ log(1 + x/0.2)$, from −1 to 1. Points are
    drawn with a density like $1/(1 + x)$, and residuals multiplied by 1 + x, as the flow changes
    more slowly farther on. They are also multiplied by $r²/(r² + 0.04)$, with the distance r from
    the edge. The null model is $ψ_0$.

    Errors are those of the velocity, in the middles of 80 × 24 equal rectangles. The values there
    are those of splines. Source: Gartling 1990, "A test problem for outflow boundary conditions:
    flow over a backward-facing step".

    Its `name`, also on the command line, is "backward-step" for Re = 200 and otherwise contains the
    number.

    **Arguments:**

    - `reynolds`: the Reynolds number Re, positive; velocities are known for 200.

    **Raises:** `ValueError` if it is not positive, and from `reference` if nothing is known there.

    !!! example

        ```python
        import diffop as do

        do.pde.BackwardStep().reference().values.max()  # 1.48
        ```
    """

    dim: ClassVar[int] = 2
    recommended: ClassVar[Recommended] = LEAST_SQUARES(
        dim=2, steps=300, batch=3000, data_batch=1, width=24, depth=2
    )

    reynolds: int | float = eqx.field(static=True)
    domain: Box = eqx.field(init=False)

    def __init__(self, reynolds: int | float = _DEFAULT):
        self.reynolds = plain(reynolds)
        if not (is_number(self.reynolds) and 0 < self.reynolds < math.inf):
            raise ValueError(
                f"backward-step expects a finite positive Reynolds number, got {reynolds!r}."
            )
        self.domain = Box((0.0, _WALLS[0]), (self.length, _WALLS[1]))

    @property
    def name(self) -> str:
        """With the Reynolds number, if it is not 200."""
        return "backward-step" if self.reynolds == _DEFAULT else f"backward-step-{self.reynolds:g}"

    @property
    def length(self) -> float:
        """L, of the channel."""
        return self.reynolds / 10

    def operators(self) -> PyTree:
        return {**carrying(), "viscous": LAPLACIAN @ LAPLACIAN}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        squared = x @ x
        weight = (1 + x[0]) * squared / (squared + _EDGE**2)
        return weight * (carried(values) - values["viscous"] / self.reynolds)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def sample(self, key: PRNGKeyArray, count: int) -> Float[Array, "count dim"]:
        points = self.domain.sample(key, count)
        part = points[:, 0] / self.length
        return points.at[:, 0].set(jnp.expm1(part * math.log1p(self.length)))

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        inflow = self.domain.face(0, "lower")
        return Conditions(Prescribed(Gradient(), _at_inflow, on=inflow))(key, count)

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(MappedInput(net, self._seen), self.null_shape, self._factor)

    def _seen(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """Coordinates from −1 to 1, in which what is near the inflow is wide."""
        along = jnp.log1p(x[0] / _EDGE) / math.log1p(self.length / _EDGE)
        return jnp.stack([2 * along - 1, 2 * x[1]])

    def _factor(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """0 with its slopes on the whole boundary, and about 0.1 elsewhere."""
        ends = jnp.square(jnp.stack([x[0], self.length - x[0]]))
        return _SIZE * jnp.prod(ends / (1 + ends)) * jnp.square(1 - 4 * x[1] * x[1])

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        far, y = x[0] / self.length, x[1]
        beyond = _entering(x[0], y) - _between(x[0], y)
        outflow = 0.25 + 0.75 * y - y * y * y
        return outflow + (1 - far) ** 2 * (1 + 2 * far) * beyond

    def reference(self) -> Reference:
        return velocities("backward-step", "behind the step", self.reynolds, _KNOWN, self.domain)

    def reattachment(self, u: Callable) -> float:
        """Where a flow comes back to the lower wall: the last change of the sign of the friction
        there.

        **Arguments:**

        - `u`: its stream function.

        **Returns:** x, from values at 2,000 places and a straight line between two of them; 0 if
        the sign does not change.

        !!! example

            ```python
            import diffop as do

            problem = do.pde.BackwardStep()
            problem.reattachment(problem.null_shape)  # 0.497
            ```
        """
        x = jnp.linspace(0.0, self.length, _PLACES + 2)[1:-1]
        wall = jnp.stack([x, jnp.full_like(x, _WALLS[0])], axis=1)
        friction = np.asarray(jax.jit(jax.vmap(Partial(1, 2).exact(u)))(wall))
        changes = np.flatnonzero(friction[1:] * friction[:-1] < 0)
        if not len(changes):
            return 0.0
        before, after = friction[changes[-1]], friction[changes[-1] + 1]
        part = before / (before - after)
        return float(x[changes[-1]] + part * (x[1] - x[0]))


def _at_inflow(x: Float[Array, " dim"]) -> Float[Array, " dim"]:
    """∇ψ, of the flow that enters above the edge."""
    y = jnp.maximum(x[1], jnp.zeros_like(x[1]))
    return jnp.stack([jnp.zeros_like(y), 24 * y * (0.5 - y)])


def _angle(x: Float[Array, ""], y: Float[Array, ""]) -> Float[Array, ""]:
    """φ, from the face of the step."""
    return math.pi / 2 + jnp.arctan2(y, x)


def _entering(x: Float[Array, ""], y: Float[Array, ""]) -> Float[Array, ""]:
    """E; 0 with its slopes at the edge, where angle and logarithm have none."""
    squared = x * x + y * y
    away, one = squared > 0, jnp.ones_like(squared)
    angle, log = _angle(jnp.where(away, x, one), y), jnp.log(jnp.where(away, squared, one))
    turned = (6 * squared - 8 * y * (2 * x * x + squared)) * angle
    return (turned + x * y * (6 - 8 * y) + 8 * x * x * x * (1 + log)) / math.pi


def _entering_slope(x: Float[Array, ""], y: Float[Array, ""]) -> Float[Array, ""]:
    """∂E/∂y."""
    bent = (y - 2 * (x * x + y * y)) * _angle(x, y)
    return 12 / math.pi * (bent + x * (1 - 2 * y))


def _between(x: Float[Array, ""], y: Float[Array, ""]) -> Float[Array, ""]:
    """I, of E at both walls, with the distance t from the other wall."""
    total = jnp.zeros_like(y)
    for wall in _WALLS:
        side, there = 2 * wall, jnp.full_like(y, wall)
        t = 0.5 + side * y
        level, tilt = _entering(x, there), _entering_slope(x, there)
        total += t * t * ((3 - 2 * t) * level + side * (t - 1) * tilt)
    return total

"""The flow in a square whose lid moves.

In an upper corner one wall moves along itself and the other is at rest. At distances r from it that
are small beside 1/Re the stream function is Taylor's, of a scraper: with the distances x from the
wall at rest and s from the lid, and θ = atan2(s, x),

    T(x, s) = c ((x + π/2 s) θ − π²/4 s),    c = 4/(π² − 4).

It is biharmonic, 0 on both walls with its slope across the one at rest, and −1 is its slope with
respect to s at the lid. So with h(x) = x² (3 − 2x), whose slope is 0 at both ends,

    ψ₀ = h(y) ((1 − h(x)) T(x, 1 − y) + h(x) T(1 − x, 1 − y))

has the velocities of all walls. Of the flow u of T the term u·∇ω is a function of θ divided by r²,
so what ψ₀ lacks in the corners begins with r², and its residual with 1/r². Squares of 1/r² have no
mean; hence the weight of the residual, which is like r⁴ there.
"""

import math
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from ...equations.sampled import AtPoints
from ...nn import HardConstraint, MappedInput
from ...operators.vector import Gradient
from ...scalars import is_number, plain
from ..conditions.base import Conditions
from ..conditions.prescribed import Prescribed
from ..domains.box import Box
from ..problem import AbstractReferenceProblem, Reference
from ..recommended import LEAST_SQUARES, Recommended
from .stream_function import LAPLACIAN, carried, carrying, velocities

_KNOWN: dict[int | float, float] = {100: 3e-5, 400: 2e-4, 1000: 4e-4, 5000: 4e-3}
"""Where velocities are, and how far those of fewer polynomials are from them."""

_DEFAULT = 100
_SCRAPED = 4 / (math.pi**2 - 4)
_CORNER = 0.1
"""The distance from an upper corner within which residuals count less."""

_LAYER = 0.05
"""The distance from a wall within which the network sees more of it, if Re is 1,000."""

_SIZE = 0.1
"""Of the stream function."""

_THICK = LEAST_SQUARES(dim=2, steps=200, batch=1500, data_batch=1, width=20, depth=2)
_THIN = LEAST_SQUARES(dim=2, steps=400, batch=3000, data_batch=1, width=24, depth=2)


@final
class Cavity(AbstractReferenceProblem):
    """Navier-Stokes, $Re (ψ_y ∂_x − ψ_x ∂_y) Δψ = Δ²ψ$ in a unit square whose lid moves.

    The unknown is the stream function ψ of a steady flow without compression, whose velocity is
    $(ψ_y, −ψ_x)$. It is (1, 0) at the lid y = 1 and 0 at the other walls; this is the lid of
    constant velocity, at whose ends the velocity jumps. With $h(x) = x² (3 − 2x)$ and the distances
    s = 1 − y from the lid and $r_0$ and $r_1$ from its ends, the ansatz is

        ψ₀ + 6.4 (x (1 − x) y s)² / (r_0² r_1²) net(x', y'),
        ψ₀ = h(y) ((1 − h(x)) T(x, s) + h(x) T(1 − x, s)),
        T(x, s) = c ((x + π/2 s) atan2(s, x) − π²/4 s),    c = 4/(π² − 4),

    which has the velocity of all walls. T is Taylor's flow at a scraper, as in both upper corners.
    The network sees coordinates x' and y' in which the layers at walls, whose width is about
    $1/√Re$, are wide. The residual is divided by Re, and multiplied by $r⁴/(r² + 0.01)²$ for both
    ends of the lid, since it grows there like $1/r²$. The null model is $ψ_0$.

    Errors are those of the velocity, in the middles of 41 × 41 equal squares. The values there are
    those of a spectral method. Source: Ghia, Ghia and Shin 1982, "High-Re solutions for
    incompressible flow"; Botella and Peyret 1998, "Benchmark spectral results on the lid-driven
    cavity flow"; Taylor 1962, "On scraping viscous fluid from a plane surface".

    Its `name`, also on the command line, is "cavity" for Re = 100 and otherwise contains the
    number: "cavity-1000".

    **Arguments:**

    - `reynolds`: the Reynolds number Re, positive; velocities are known for 100, 400, 1000
        and 5000.

    **Raises:** `ValueError` if it is not positive, and from `reference` if nothing is known there.

    !!! example

        ```python
        import diffop as do

        do.pde.Cavity(reynolds=1000).reference().values.max()  # 0.837
        ```
    """

    dim: ClassVar[int] = 2
    domain: ClassVar[Box] = Box((0.0, 0.0), (1.0, 1.0))

    reynolds: int | float = eqx.field(static=True)

    def __init__(self, reynolds: int | float = _DEFAULT):
        self.reynolds = plain(reynolds)
        if not (is_number(self.reynolds) and 0 < self.reynolds < math.inf):
            raise ValueError(f"cavity expects a finite positive Reynolds number, got {reynolds!r}.")

    @property
    def name(self) -> str:
        """With the Reynolds number, if it is not 100."""
        return "cavity" if self.reynolds == _DEFAULT else f"cavity-{self.reynolds:g}"

    @property
    def recommended(self) -> Recommended:
        """Larger networks and more steps for layers that are thin."""
        return _THICK if self.reynolds <= _DEFAULT else _THIN

    def operators(self) -> PyTree:
        return {**carrying(), "viscous": LAPLACIAN @ LAPLACIAN}

    def residual(self, values: PyTree, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return _weight(x) * (carried(values) - values["viscous"] / self.reynolds)

    def source(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.zeros((), x.dtype)

    def conditions(self, key: PRNGKeyArray, count: int) -> tuple[AtPoints, ...]:
        lid = self.domain.face(1, "upper")
        return Conditions(Prescribed(Gradient(), _at_lid, on=lid))(key, count)

    def ansatz(self, net: Callable) -> Callable:
        return HardConstraint(MappedInput(net, self._seen), self.null_shape, _factor)

    def _seen(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """Coordinates from −1 to 1, in which the layers at walls are wide."""
        layer = _LAYER * math.sqrt(1000 / self.reynolds)
        wide = jnp.arcsinh(x / layer) - jnp.arcsinh((1 - x) / layer)
        return wide / math.asinh(1 / layer)

    def null_shape(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        s, right = 1 - x[1], _step(x[0])
        return _step(x[1]) * ((1 - right) * _scraper(x[0], s) + right * _scraper(1 - x[0], s))

    def reference(self) -> Reference:
        return velocities("cavity", "in the cavity", self.reynolds, _KNOWN, self.domain)


def _at_lid(x: Float[Array, " dim"]) -> Float[Array, " dim"]:
    """∇ψ, of a flow along the lid."""
    return jnp.array([0.0, 1.0], x.dtype)


def _scraper(x: Float[Array, ""], s: Float[Array, ""]) -> Float[Array, ""]:
    """T, the stream function in a corner."""
    half = math.pi / 2
    return _SCRAPED * ((x + half * s) * jnp.arctan2(s, x) - half**2 * s)


def _step(x: Float[Array, ""]) -> Float[Array, ""]:
    """h, from 0 to 1, with slopes 0 at both."""
    return x * x * (3 - 2 * x)


def _corners(x: Float[Array, " dim"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The squared distances from the ends of the lid."""
    squared = (1 - x[1]) ** 2
    return x[0] ** 2 + squared, (1 - x[0]) ** 2 + squared


def _factor(x: Float[Array, " dim"]) -> Float[Array, ""]:
    """0 with its slopes on all walls, and like r² in the upper corners; 0 there, too."""
    left, right = _corners(x)
    bubble, squared = jnp.prod(x * (1 - x)), left * right
    return 64 * _SIZE * bubble * bubble / jnp.where(squared > 0, squared, jnp.ones_like(squared))


def _weight(x: Float[Array, " dim"]) -> Float[Array, ""]:
    """Like r⁴ in the upper corners."""
    left, right = (squared / (squared + _CORNER**2) for squared in _corners(x))
    return jnp.square(left * right)

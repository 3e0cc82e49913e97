"""Generators of jump processes, among them the fractional Laplacian. They can only be estimated."""

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from ..array_types import Key, Vector
from ..called import check_takes
from ..jets.field_terms import LinearForm
from ..jets.fields import Number
from ..jets.point import Point
from ..quadrature import AbstractJumps, Jump, PoissonJumps, StableJumps
from ..quadrature.stable import Radius
from ..scalars import plain
from ..streams import stream
from ..terms.coefficients import times_scalar
from ..terms.evaluate import apply
from ..terms.nonlocal_terms import Nonlocal
from ..terms.term import Part, Segment, Term, factor_term
from .coordinates import AbstractOfCoordinates


@final
class JumpGenerator(AbstractOfCoordinates):
    """The generator of a jump process,
    $∫ (u(x + z) − u(x) − z·∇u(x) 1_{z small}) ν(dz)$. For a Lévy process add its drift,
    `Directional(b)`, and its diffusion, `SecondOrder(C)`.

    It can only be estimated. A draw is one large jump and, if the measure has small jumps, one
    small jump. The part of the small jump is half a second derivative at a point on its way. All
    points x share the draws of one estimate. Small jumps are compensated, large jumps are not: for
    a measure that is not symmetric, the drift depends on the radius between the two.

    **Arguments:**

    - `jumps`: the measure $ν$: [`diffop.quadrature.PoissonJumps`][],
        [`diffop.quadrature.StableJumps`][], or another [`diffop.quadrature.AbstractJumps`][].
    - `argnum`, `dims`: which argument jumps, and which of its coordinates.

    **Raises:** `TypeError` for another measure; `ValueError` if `.exact` is applied.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        jumps = do.quadrature.PoissonJumps(2.0, lambda key, x: jax.random.normal(key, (3,)))
        E = do.JumpGenerator(jumps).estimate(jax.random.key(0), 4000)
        value, error, _ = E.stats(lambda x: x @ x)(jnp.zeros(3))  # 2 E|z|² = 6, up to 2 %
        ```
    """

    jumps: AbstractJumps

    def __check_init__(self) -> None:
        if not isinstance(self.jumps, AbstractJumps):
            raise TypeError(
                "JumpGenerator expects a measure of jumps, such as "
                f"diffop.quadrature.PoissonJumps(rate, draw); got {self.jumps!r}."
            )

    def terms(self) -> tuple[Term, ...]:
        return (factor_term(JumpTerms(self.argnum, self.dims, self.jumps, "J")),)


@final
class FractionalLaplacian(AbstractOfCoordinates):
    """$(−Δ)^{α/2}$ for 0 < α < 2, of functions on all of space; $α = 2$ would give $−Δ$. It depends
    on u everywhere, so a problem on a domain has to give u on all of the outside, not only on the
    boundary.

    It can only be estimated, in any number of dimensions. Each of n draws takes a far jump in both
    directions, and a second derivative nearby. The [variance is
    finite](../how_to/integrals.md#jumps). All points x share the draws of one estimate.

    **Arguments:**

    - `alpha`: $α$, between 0 and 2.
    - `radius`: within this distance u must have two derivatives, which replace the jumps there: a
        number, or a function of the point. **The estimate is biased if it is too large.** If u has
        a kink, as a network times $(1 − |x|²)_+$ has on the sphere, `radius` is at most the
        distance to the kink, `radius=lambda x: 1 - jnp.linalg.norm(x)`. All smaller values give the
        same mean.
    - `tempering`: $λ$ of a tempered operator, whose jumps have the density of those of
        $(−Δ)^{α/2}$ times $exp(−λ|z|)$.
    - `argnum`, `dims`: which argument, and which of its coordinates.

    **Raises:** `ValueError` for numbers out of range, and if `.exact` is applied; `TypeError`
    without a radius.

    Sources: Kwaśnicki 2017, "Ten equivalent definitions of the fractional Laplace operator"; Guo,
    Wu, Yu and Zhou 2022, "Monte Carlo fPINNs", who split at a radius and take a difference in the
    near part.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        E = do.FractionalLaplacian(1.5, radius=1.0).estimate(jax.random.key(0), 4096)
        value, error, _ = E.stats(lambda x: jnp.exp(-x @ x / 2))(jnp.zeros(2))
        value  # 2^α/2 Γ(1 + α/2) = 1.546 up to the error
        ```
    """

    alpha: int | float = eqx.field(static=True, converter=plain)
    radius: Radius = eqx.field(converter=plain, default=None, kw_only=True)
    tempering: int | float = eqx.field(static=True, converter=plain, default=0.0, kw_only=True)

    def __check_init__(self) -> None:
        if self.radius is None:
            raise TypeError(
                "FractionalLaplacian expects a radius, within which u has two derivatives around "
                "each point, such as radius=1.0 for a smooth u, and radius=lambda x: 1 - "
                "jnp.linalg.norm(x), the distance to the sphere, for a u with a kink there; got "
                "none."
            )
        self._jumps()  # checks the numbers

    def _jumps(self) -> StableJumps:
        return StableJumps(self.alpha, radius=self.radius, tempering=self.tempering)

    def terms(self) -> tuple[Term, ...]:
        symbol = f"(−Δ)^{self.alpha / 2:g}"
        return (factor_term(JumpTerms(self.argnum, self.dims, self._jumps(), symbol, -1)),)


@final
class JumpTerms(Nonlocal):
    """The generator of a measure of jumps, times 1 or −1."""

    jumps: AbstractJumps
    name: str = eqx.field(static=True)
    sign: int = eqx.field(static=True, default=1)
    exponents: ClassVar[tuple[int, ...]] = (2,)
    by: ClassVar[str] = "draws only"
    drawn: ClassVar[bool] = True  # pyright: ignore

    @property
    def symbol(self) -> str:
        return f"{self.name}{self.mark}"

    @property
    def evaluations(self) -> int:
        """Two for a jump in both directions if jumps are symmetric, and those of a small jump."""
        return 3 if self.jumps.symmetric else 2

    def exact(self, u: Callable[..., PyTree], point: Point) -> NoReturn:
        raise ValueError(
            f"{self.symbol} sees u everywhere and has no exact value; estimate it: "
            "L.estimate(key, n), or diffop.estimate(ops, key, n). Jumps of known density have a "
            "rule instead: Integral(region, density, rule=…) - Identity()."
        )

    def one(self, key: Key, u: Callable[..., PyTree], point: Point) -> PyTree:
        size, args, kwargs = self.dimension(point), point.args, point.kwargs
        if isinstance(self.jumps, PoissonJumps):
            remedy = "let it take a key, and then the arguments of u"
            check_takes("draw of PoissonJumps", self.jumps.draw, args, kwargs, remedy, ("key",))
        large = self.jumps.large(stream(key, "large jumps"), size, *args, **kwargs)
        change = self._change(large, u, point)
        small = self.jumps.small(stream(key, "small jumps"), size, *args, **kwargs)
        if small is None:
            return change
        share = jax.random.uniform(stream(key, "way of a small jump"))
        half = self._half_curvature(small, 1 - jnp.sqrt(share), u, point)
        return jax.tree.map(jnp.add, change, half)

    def _change(self, jump: Jump, u: Callable[..., PyTree], point: Point) -> PyTree:
        """w (u(x + z) − u(x)); the mean over z and −z if these are equally likely."""
        here = self.at(self.coordinates(point), point).value_of(u)
        there = self._after(jump, 1.0, point).value_of(u)
        if self.jumps.symmetric:
            back = self._after(jump, -1.0, point).value_of(u)
            there = jax.tree.map(lambda a, b: (a + b) / 2, there, back)
        return jax.tree.map(
            lambda there, here: times_scalar(there - here, self.sign * jump.weight), there, here
        )

    def _half_curvature(
        self, jump: Jump, share: Any, u: Callable[..., PyTree], point: Point
    ) -> PyTree:
        """½ w ∂_θ² u at a fraction of the way."""
        along = LinearForm(self.argnum, self.dims, jump.direction)
        term = Term(Number(1), (Segment((), (along,), (2,)),))
        found = apply([Part((term,), None)], u, self._after(jump, share, point))
        return jax.tree.map(lambda leaf: times_scalar(leaf, self.sign * jump.weight / 2), found)

    def _after(self, jump: Jump, share: Any, point: Point) -> Point:
        """The point after a fraction of a jump."""
        x = self.coordinates(point)
        step: Vector = (share * jump.length * jump.direction).astype(x.dtype)
        return self.at(x + step, point)

"""The paper's six problems on the unit ball (three nonlinearities, two sums), and the same on a
lattice.
"""

from collections.abc import Callable
from typing import NamedTuple, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...scalars import plain
from .. import nonlinearities
from ..recommended import ByDimension, Recommended
from .problem import AbstractBallProblem, random_coefficients
from .recommended import THREE_BODY, TWO_BODY, lattice
from .three_body_sum import CENTRE as THREE_BODY_CENTRE, three_body_sum, three_body_terms
from .two_body_sum import CENTRE as TWO_BODY_CENTRE, two_body_sum, two_body_terms


class _Equation(NamedTuple):
    text: str
    nonlinearity: Callable[[Float[Array, ""]], Float[Array, ""]]


EQUATIONS = {
    "poisson": _Equation("Poisson, Δu = f", nonlinearities.none),
    "allen-cahn": _Equation("Allen-Cahn, Δu + u − u³ = f", nonlinearities.allen_cahn),
    "sine-gordon": _Equation("Sine-Gordon, Δu + sin u = f", nonlinearities.sine_gordon),
}


class _Sum(NamedTuple):
    text: str
    alone: Callable[..., Float[Array, ""]]
    terms: Callable[..., tuple[Float[Array, " terms"], ...]]
    centre: float
    recommended: ByDimension


SUMS = {
    2: _Sum("two-body", two_body_sum, two_body_terms, TWO_BODY_CENTRE, TWO_BODY),
    3: _Sum("three-body", three_body_sum, three_body_terms, THREE_BODY_CENTRE, THREE_BODY),
}


def recommended_for_sum(bodies: int, period: int | None) -> Recommended | ByDimension:
    """The recommended settings for an equation with a sum."""
    return SUMS[bodies].recommended if period is None else lattice(period)


@final
class ManyBody(AbstractBallProblem):
    """$Δu + g(u) = f$ on the unit ball, u = 0 on the sphere, neighbouring coordinates coupled.

    The equation is "poisson" with g = 0, "allen-cahn" with $g(u) = u − u³$, or "sine-gordon" with
    $g(u) = sin u$. The solution is $u(x) = (1 − |x|²) S(x)$, where with $c_i ~ N(0, 1)$

    - for 2 bodies $S(x) = Σ_i c_i sin(x_i + cos x_{i+1} + x_{i+1} cos x_i)$, i = 1 … d − 1;
    - for 3 bodies $S(x) = Σ_i c_i exp(x_i x_{i+1} x_{i+2})$, i = 1 … d − 2.

    The exponents are about $d^{−3/2}$, so the null model is far better with three bodies than with
    two: its relative error is 2e-4 in 100 dimensions and 7e-6 in 1000. From 100,000 on it is below
    the rounding of float32, where errors mean nothing.

    On a lattice the coefficients repeat after `period` coordinates, and the sum over a period is 0.
    Otherwise S would be about d, and the null model exact to 1/d. So u is about one in any
    dimension, and all cells of the lattice look alike, as they do to a network with shared weights
    ([`diffop.nn.WeightSharedMLP`][]).

    Source: Shi et al. 2024, "Stochastic Taylor Derivative Estimator", appendix "Inseparable and
    effectively high-dimensional PDEs".

    **Arguments:**

    - `equation`: "poisson", "allen-cahn" or "sine-gordon".
    - `bodies`: 2 or 3.
    - `dim`: the number of coordinates d, at least that of bodies.
    - `key`: a key from `jax.random.key`; it determines the solution's coefficients.
    - `period`: the number of coordinates after which the coefficients repeat, from 2 to the number
        of coefficients; None, the default, if they do not.

    Its `name`, also on the command line, consists of the equation and the sum, such as
    "allen-cahn-two-body". On a lattice it is "allen-cahn-two-body-lattice", with a period of 4 if
    the problem is made by its name.

    **Raises:** `ValueError` for another equation or sum, too few coordinates, or a period that is
    not among them.

    !!! example

        ```python
        import jax
        import diffop as do

        problem = do.pde.ManyBody("allen-cahn", 2, 10, key=jax.random.key(0))
        x = problem.sample(jax.random.key(1), 1)[0]
        values = do.exact(problem.operators())(problem.solution)(x)
        problem.residual(values, x)  # 0 up to rounding
        ```
    """

    equation: str = eqx.field(static=True)
    bodies: int = eqx.field(static=True, converter=plain)
    dim: int = eqx.field(static=True, converter=plain)
    coefficients: Float[Array, " terms"]
    period: int | None = eqx.field(static=True, converter=plain)

    def __init__(
        self,
        equation: str,
        bodies: int,
        dim: int,
        *,
        key: PRNGKeyArray,
        period: int | None = None,
    ):
        bodies = plain(bodies)
        if equation not in EQUATIONS or bodies not in SUMS:
            raise ValueError(
                f"ManyBody expects an equation among {', '.join(EQUATIONS)} and 2 or 3 bodies, got "
                f"{equation!r} and {bodies!r}."
            )
        self.equation, self.bodies, self.dim = equation, bodies, dim
        self.period = period
        self.coefficients = random_coefficients(self.name, dim, bodies, key)
        if period is not None:
            self.coefficients = _repeated(self.coefficients, period)

    @property
    def name(self) -> str:
        lattice = "" if self.period is None else "-lattice"
        return f"{self.equation}-{SUMS[self.bodies].text}{lattice}"

    @property
    def recommended(self) -> Recommended | ByDimension:
        """By the number of bodies and the dimension; the same in every dimension on a lattice."""
        return recommended_for_sum(self.bodies, self.period)

    def nonlinearity(self, u: Float[Array, ""]) -> Float[Array, ""]:
        return EQUATIONS[self.equation].nonlinearity(u)

    def sum(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        return SUMS[self.bodies].alone(self.coefficients, self._total(), x)

    def sum_terms(
        self, x: Float[Array, " dim"], w: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        value, radial, laplacian = SUMS[self.bodies].terms(x)
        # Two dot products: each writes its products to memory, and they are the fastest sums on a
        # CPU, where XLA adds the terms of other sums one by one.
        total = self.coefficients @ value + SUMS[self.bodies].centre * self._total()
        return total, self.coefficients @ (w * laplacian - 4 * radial)

    def _total(self) -> Float[Array, ""]:
        """Σ_i c_i; a whole period contributes nothing."""
        size = self.coefficients.size
        return jnp.sum(self.coefficients[: size if self.period is None else size % self.period])


def _repeated(coefficients: Float[Array, " terms"], period: int) -> Float[Array, " terms"]:
    """The first of them, less their mean, repeated."""
    if not 2 <= period <= coefficients.size:
        raise ValueError(
            f"ManyBody expects a period from 2 to the {coefficients.size} terms of its sum, got "
            f"{period}; leave it out for coefficients that do not repeat."
        )
    cell = coefficients[:period]
    return jnp.resize(cell - jnp.mean(cell), coefficients.shape)

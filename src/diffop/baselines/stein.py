"""Randomised smoothing: derivatives from values by Stein's identity."""

from collections.abc import Sequence
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..array_types import PerDirection, Probes, ScalarArray, Vector
from ..jets.directions import Rows
from ..jets.point import Point
from ..jets.terms import Factors
from ..jets.vector_terms import GradientTerms
from ..probes.base import Draw
from ..scalars import plain
from ..streams import stream
from ..terms.gradient import gradient
from ..terms.term import Part
from .base import AbstractBaseline, ScalarFunction
from .directions import Weighted, all_directions, over_all_sets
from .evaluation import Local


@final
class Stein(AbstractBaseline):
    """`"stein"`: randomised smoothing. It replaces u by $u_σ(x) = E[u(x + σz)]$, z ~ N(0, I), whose
    values and derivatives are estimated from n antithetic pairs of values of u.

    The density of $y = x + σz$ is $φ((y − x)/σ)/σ^d$. Its derivatives with respect to x are $z/σ$
    times itself, and $(zzᵀ − I)/σ²$ times itself. So (Stein's identity)

        ∇u_σ = E[z u(x + σz)]/σ,    Hess u_σ = E[(zzᵀ − I) u(x + σz)]/σ².

    Both z and −z are used. $u(x)$ may be subtracted since $E[zzᵀ − I] = 0$, so the variance does
    not grow as $σ$ vanishes. With $u₊$ and $u₋$ at $x ± σz$ these are the means of

        (u₊ + u₋)/2,    z (u₊ − u₋)/(2σ),    (zzᵀ − I)(u₊ + u₋ − 2u)/(2σ²).

    Unbiased for $u_σ$ and its derivatives, biased for those of u: $u_σ − u = σ²/2 Δu + O(σ⁴)$, so
    each of them has an error of $σ²/2$ times its Laplacian. The value is sampled too: a residual in
    which it occurs nonlinearly is biased even for the product of two draws. In float32 the
    differences have a rounding error of about 1e-7 $|u|/σ²$, which is multiplied by $|z|² − d$ in a
    Laplacian.

    It takes 2n + 1 values of u; nothing is differentiated with respect to x. No number of draws is
    exact.

    Source: He et al. 2023, "Learning physics-informed neural networks without stacked
    back-propagation", with its control variate and antithetic samples.

    **Arguments:**

    - `sigma`: $σ$, the width of the smoothing.

    **Raises:** `ValueError` for a width that is not a finite positive number.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        ops = {"u": do.Identity(), "lap": do.Laplacian()}
        joint = do.baselines.estimate(do.baselines.Stein(sigma=0.1), ops, jax.random.key(0), 2048)
        jax.jit(joint(lambda x: jnp.sum(x**2)))(jnp.zeros(3))  # about 0.03 and 6
        ```
    """

    sigma: int | float = eqx.field(static=True, converter=plain, default=0.01)
    name: ClassVar[str] = "stein"
    random: ClassVar[bool] = True

    def __check_init__(self) -> None:
        if not 0 < self.sigma < float("inf"):
            raise ValueError(
                f"Stein expects a sigma that is a finite positive number, got {self.sigma!r}."
            )

    def check(self, parts: Sequence[Part]) -> None:
        pass

    def at(self, u: ScalarFunction, point: Point, draw: Draw) -> Local:
        (x,) = point.args
        z = normal_steps(draw, x)
        ahead, behind = (
            jax.vmap(lambda v, s=s: u(x + s * v))(z) for s in (self.sigma, -self.sigma)
        )
        odd = (ahead - behind) / (2 * self.sigma * draw.n)
        even = (ahead + behind - 2 * u(x)) / (2 * self.sigma**2 * draw.n)

        def slopes(factor: GradientTerms) -> Vector:
            return gradient(lambda y: jnp.vdot(odd @ z, y), point, factor)

        def second(factors: Factors) -> ScalarArray:
            return over_all_sets(
                lambda each: even @ _forms(z, each), all_directions(factors, point)
            )

        return Local(
            value=lambda: jnp.mean(ahead + behind) / 2,
            slope=lambda b: odd @ (z @ b),
            gradient=slopes,
            second=second,
        )


def normal_steps(draw: Draw, x: Vector) -> Probes:
    """z, one a row."""
    key = stream(draw.key, "steps of Stein", x.size)
    return jax.random.normal(key, (draw.n, x.size), x.dtype)


def _forms(z: Probes, weighted: Weighted) -> PerDirection:
    """Σ_r w_r ((v_r·z)² − |v_r|²) for each z: ⟨C, zzᵀ − I⟩ for C = Σ_r w_r v_r v_rᵀ."""
    along, squares = _products(weighted.rows, z)
    return (along**2 - squares) @ jnp.asarray(weighted.weights).astype(z.dtype)


def _products(rows: Rows, z: Probes) -> tuple[Array, Array]:
    """v_r·z for each z and r, and |v_r|² as one row."""
    values, positions = jnp.asarray(rows.values).astype(z.dtype), rows.positions
    if positions is None:
        return z @ values.T, jnp.sum(values**2, axis=1)[None]
    # equal positions of a direction add up
    same = (positions[:, :, None] == positions[:, None, :]).astype(z.dtype)
    squares = jnp.einsum("ri,rj,rij->r", values, values, same)
    return jnp.sum(z[:, positions] * values[None], axis=-1), squares[None]

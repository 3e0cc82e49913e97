"""Central differences."""

from collections.abc import Sequence
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp

from ..array_types import ScalarArray, Vector
from ..jets.point import Point
from ..jets.terms import Factors
from ..jets.vector_terms import GradientTerms
from ..probes import Sparse
from ..probes.base import Draw
from ..scalars import plain
from ..terms.gradient import gradient
from ..terms.term import Part
from .base import AbstractBaseline, ScalarFunction
from .directions import all_at_once, drawn_directions, over_all_sets
from .evaluation import Local


@final
class FiniteDifferences(AbstractBaseline):
    """`"finite-differences"`: central differences, the second ones along n of the d coordinates,
    scaled by d/n. Nothing is differentiated.

    With a unit vector e, $f(t) = u(x + t e)$, and values of u with an error of $ε|u|$ each,

        (f(h) − 2 f(0) + f(−h)) / h² = f'' + h²/12 f⁗ up to 4ε|u|/h²,
        (f(h) − f(−h)) / 2h          = f'  + h²/6 f‴  up to ε|u|/h.

    For $|u| = |f‴| = |f⁗|$ the errors are least at $h = (48 ε)^¼$, where the first is $2 √(ε/3)$,
    and at $h = (3 ε)^⅓$. These are the default steps, with the $ε$ of x's type: 0.049 and 0.0071 in
    float32, 0.00032 and 8.7e-6 in float64. Steps along other vectors have this length too.

    Biased as above. It takes two values of u for each sampled coordinate and each first derivative
    along a vector, and 2d values for a gradient. Steps are smaller than rounding where x is large,
    from 1e5 on in float32: give a larger `step` there.

    Source: Pang, Xu, Li, Song, Ermon and Zhu 2020, "Efficient learning of generative models via
    finite-difference score matching".

    **Arguments:**

    - `step`: h, for first and second derivatives; by default as above.

    **Raises:** `ValueError` for a step that is not a finite positive number.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import diffop as do

        method = do.baselines.FiniteDifferences(step=0.1)
        estimate = do.baselines.estimate(method, do.Laplacian(), jax.random.key(0), 16)
        jax.jit(estimate(lambda x: jnp.sum(x**2)))(jnp.zeros(100))  # 200.0
        ```
    """

    step: int | float | None = eqx.field(static=True, converter=plain, default=None)
    name: ClassVar[str] = "finite-differences"
    random: ClassVar[bool] = True

    def __check_init__(self) -> None:
        if self.step is not None and not 0 < self.step < float("inf"):
            raise ValueError(
                "FiniteDifferences expects a step that is a finite positive number, or None for "
                f"one that fits the type of x, got {self.step!r}."
            )

    def check(self, parts: Sequence[Part]) -> None:
        pass

    def at(self, u: ScalarFunction, point: Point, draw: Draw) -> Local:
        (x,) = point.args
        epsilon = float(jnp.finfo(x.dtype).eps)
        started = Draw(draw.key, draw.n, Sparse()).started  # as in diffop's estimate

        def slope(v: Vector) -> ScalarArray:
            t = _time(v, self.step or (3 * epsilon) ** (1 / 3))
            return (u(x + t * v) - u(x - t * v)) / (2 * t)

        def curvature(v: Vector) -> ScalarArray:
            t = _time(v, self.step or (48 * epsilon) ** (1 / 4))
            return (u(x + t * v) - 2 * u(x) + u(x - t * v)) / t**2

        def slopes(factor: GradientTerms) -> Vector:
            each = jax.lax.map(lambda i: slope(jnp.zeros_like(x).at[i].set(1)), jnp.arange(x.size))
            return gradient(lambda y: jnp.vdot(each, y), point, factor)

        def second(factors: Factors) -> ScalarArray:
            drawn = drawn_directions(factors, started, point)
            return over_all_sets(lambda each: all_at_once(curvature, each, x), drawn)

        return Local(lambda: u(x), slope, slopes, second)


def _time(v: Vector, step: float) -> ScalarArray:
    """How far to go along v for a step of a given length; any number for v = 0."""
    length = jnp.linalg.norm(jax.lax.stop_gradient(v))
    return step / jnp.where(length > 0, length, 1)

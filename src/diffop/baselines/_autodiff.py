"""Baselines by automatic differentiation: values and slopes exact, second derivatives sampled."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from .._types import ScalarArray, Vector
from ..jets.point import Point
from ..jets.probes import AbstractProbe
from ..jets.probes.base import Draw, Factors
from ..operators.draws import check_probes
from ..operators.gradient import gradient
from ..operators.term import Part
from ._base import AbstractBaseline, Local, ScalarFunction
from ._directions import Second, Weighted, drawn_directions, summed

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar


class AbstractAutodiff(AbstractBaseline):
    """Second derivatives along directions, drawn by a probe."""

    probe: AbstractClassVar[AbstractProbe]

    @abstractmethod
    def weighted_sum(self, u: ScalarFunction, x: Vector, weighted: Weighted) -> ScalarArray:
        """Σ_r w_r (v_r·∇)² u at x."""

    def check(self, parts: Sequence[Part]) -> None:
        check_probes(parts, self.probe)

    def at(self, u: ScalarFunction, point: Point, draw: Draw) -> Local:
        (x,) = point.args
        started = Draw(draw.key, draw.n, self.probe).started  # as in diffop's own estimate

        def second(factors: Factors) -> ScalarArray:
            drawn = drawn_directions(factors, started, point)
            return summed(partial(self.weighted_sum, u, x), drawn)

        return Local(
            value=lambda: u(x),
            slope=lambda b: jnp.vdot(b, jax.grad(u)(x)),
            gradient=partial(gradient, u, point),
            second=second,
        )


def reverse_over_reverse(u: ScalarFunction, x: Vector) -> Second:
    """v ↦ v · ∇(v·∇u): the gradient is computed once, and pulled back along each direction."""
    _, pullback = jax.vjp(jax.grad(u), x)
    return lambda v: jnp.vdot(v, pullback(v)[0])


def forward_over_reverse(u: ScalarFunction, x: Vector) -> Second:
    """v ↦ v · (Hess u v), by pushing v forward through the gradient."""
    return lambda v: jnp.vdot(v, jax.jvp(jax.grad(u), (x,), (v,))[1])

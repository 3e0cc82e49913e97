"""A random sample of an operator."""

from collections.abc import Callable
from functools import partial
from typing import Any, final

from jaxtyping import PyTree

from ..estimators.control import Controlled, Scale
from ..estimators.estimator import AbstractEstimator
from ..estimators.observation import observe
from ..estimators.statistics import Stats, statistics
from ..jets.point import Point
from ..probes import RunningMagnitudes
from ..schemes.names import PlanKind
from ..terms.arguments import Function
from ..terms.evaluate import apply
from ..terms.one_point import applied
from ..terms.term import Part
from .base import Operator


@final
class Estimate(Operator, AbstractEstimator):
    """A random sample of an operator with fixed jets. It is an operator itself: it is linear, can
    be applied to any function, and can be added to others.

    `L.estimate(key, n)` makes it. Call it on a function: `E(u)(x)`.
    """

    samples: tuple[Part, ...]

    @property
    def leaves(self) -> tuple[tuple[tuple[Part, ...], int | None], ...]:
        return ((self.samples, 0),)

    @property
    def exact(self) -> "Estimate":
        """The estimate itself, since its jets are fixed already."""
        return self

    def _value(self, u: Function, point: Point) -> PyTree:
        return apply(self.samples, u, point)

    def _stats(self, u: Function, point: Point) -> Stats:
        return statistics(self.samples, u, point)

    def controlled(
        self,
        control: Function,
        value: Function | None = None,
        scale: Scale = 1.0,
    ) -> Controlled:
        """The estimate with a control variate: $E(u) + s (L g − E(g))$ for a function g with a
        known L g, from one push of both functions.

        **Arguments:**

        - `control`: g, a function like u: an exact solution that u approaches, a smaller network,
            or the network of some steps ago.
        - `value`: L g as a function of the point; by default it is computed exactly.
        - `scale`: s; 1 estimates $L(u − g)$. "fitted" takes for each draw the best s of the other
            draws. This is unbiased if draws are independent (dense probes but orthogonal ones,
            importance), and has a bias of relative size 1/N for n of N terms without replacement.
            Draws of several strata are refused. With few draws the standard error is too small,
            since it takes s for given.

        **Returns:**

        A [`diffop.estimators.Controlled`][]: call it on u, or ask for its `.stats(u)`.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            g = lambda x: jnp.sum(x**4)
            u = lambda x: g(x) + 0.01 * jnp.prod(x)
            E = do.Laplacian().estimate(jax.random.key(0), 4)
            E.controlled(g, lambda x: 12 * jnp.sum(x**2))(u)(jnp.arange(20.0))
            ```
        """
        return Controlled(self.samples, control, value, scale)

    def observe(self, memory: RunningMagnitudes) -> Callable[..., Any]:
        """What a [`diffop.probes.RunningMagnitudes`][] learns from this estimate at a point:
        `memory = E.observe(memory)(u)(*args)`. It works for estimates of a single sum over
        coordinates made with `probes=memory.probe()`.
        """

        def observed(
            u: Function, *point: Any, chunk: int | None = None, plan: PlanKind = "auto"
        ) -> Callable[..., RunningMagnitudes]:
            return applied(u, point, partial(observe, memory, self.samples, u), chunk, plan)

        return observed

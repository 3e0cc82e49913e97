"""The base class of all estimators: one way to apply them, and results of one shape."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
from jaxtyping import PyTree

from ..jets.point import Point
from ..schemes.names import PlanKind
from ..terms.arguments import Function
from ..terms.one_point import applied
from .statistics import Stats


class AbstractEstimator(eqx.Module):
    """Called with a function u, it returns a function of u's own arguments whose values are
    estimates. `stats` adds their standard errors.
    """

    @abstractmethod
    def _value(self, u: Function, point: Point) -> PyTree:
        """The estimate at a point."""

    @abstractmethod
    def _stats(self, u: Function, point: Point) -> Stats:
        """The estimate at a point with its standard error."""

    def __call__(
        self, u: Function, *point: Any, chunk: int | None = None, plan: PlanKind = "auto"
    ) -> Function:
        """The estimate of a function u, as a function of its arguments: `E(u)(*args)`.

        **Arguments:**

        - `u`: a function of arrays or pytrees; traced as under `jax.jit`.
        - `chunk`, `plan` (by keyword): as for `Operator.exact`.
        """
        return applied(u, point, partial(self._value, u), chunk, plan)

    def stats(
        self, u: Function, *point: Any, chunk: int | None = None, plan: PlanKind = "auto"
    ) -> Callable[..., Stats]:
        """The estimate with its standard error: `E.stats(u)(*args)` is a
        [`diffop.estimators.Stats`][], `(value, standard_error, jets)`; `chunk` and `plan` as for
        `Operator.exact`.

        **Raises:** `ValueError`, when it is called, if there is no standard error: for one draw,
        for probes without one, and if the inner operator of a composition with variable
        coefficients is sampled too.

        !!! example

            ```python
            import jax
            import jax.numpy as jnp
            import diffop as do

            E = do.Laplacian().estimate(jax.random.key(0), 8)
            value, error, jets = E.stats(lambda x: jnp.sum(x**4))(jnp.arange(20.0))
            joint = do.estimate({"lap": do.Laplacian(), "u": do.Identity()}, jax.random.key(0), 8)
            joint.stats(lambda x: jnp.sum(x**4))(jnp.arange(20.0)).standard_error["u"]  # 0.0
            ```
        """
        return applied(u, point, partial(self._stats, u), chunk, plan)

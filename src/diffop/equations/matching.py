"""Conditions that values at two points are equal, as for periodic boundaries."""

from collections.abc import Callable
from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from ..operators.base import Operator
from ..operators.nonlinear import NonlinearOperator
from .condition import Condition, check_operator
from .points import OnePoint, Points, as_arrays, at_each, check_arguments, chosen


@final
class Matching(eqx.Module):
    """Equal values at two points: `operator.exact(u)(x) = operator.exact(u)(x + step)`.

    - `operator`: whose values are compared.
    - `points`: as for [`diffop.equations.Condition`][].
    - `step`: from each point to its partner, in the form of one point: shape `(dim,)`.
    - `weight`: its weight beside the problem's other conditions.

    **Raises:** `TypeError` for anything but an operator; `ValueError` for a step that is not in the
    form of one point.

    !!! example

        ```python
        import jax.numpy as jnp
        import diffop as do

        ends = do.equations.Matching(do.Identity(), jnp.zeros((1, 1)), jnp.array([2.0]))
        ends.misfit(lambda x: jnp.sin(jnp.pi * x[0]))  # 0 up to rounding
        ```
    """

    operator: Operator | NonlinearOperator
    points: Points = eqx.field(converter=as_arrays)
    step: OnePoint = eqx.field(converter=as_arrays)
    weight: int | float = 1.0

    def __check_init__(self) -> None:
        check_operator("Matching", self.operator)
        of_one = jax.tree.map(lambda x: jnp.shape(x)[1:], self.points)
        if jax.tree.map(jnp.shape, self.step) != of_one:
            raise ValueError(
                "Matching expects a step in the form of one point, with arrays of shape "
                f"{of_one}; got {self.step!r}."
            )

    def misfit(self, u: Callable) -> Float[Array, ""]:
        """The misfit: the weight times the mean over the points of the squared difference."""
        return self._prescribed(u).misfit(u)

    def residuals(self, u: Callable) -> Shaped[Array, "count ..."]:
        """The misfit at each point, scaled so that the squares add up to `misfit(u)`."""
        return self._prescribed(u).residuals(u)

    def _prescribed(self, u: Callable) -> Condition:
        """The values at the partners, as a condition at the points."""
        check_arguments("u", u, self.points)
        steps = chosen(self.step, None)
        partners = jax.tree.map(lambda x, step: x + step.astype(x.dtype), self.points, steps)
        there = at_each(self.operator.exact(u), partners)
        return Condition(self.operator, self.points, there, self.weight)

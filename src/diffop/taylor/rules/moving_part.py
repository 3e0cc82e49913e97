"""An equation as a function of what moves in it: of the operands that depend on the jets, to the
outputs that have derivatives.
"""

from collections.abc import Callable, Sequence
from typing import Any, final

import jax.extend.core as jex
import jax.numpy as jnp
from jaxtyping import Array

from ..binding import bind, partially_bound
from ..bundle import Families, Family, Value, dense_series, expand, is_moving, primal_of
from ..coefficients import Series


@final
class MovingPart:
    """A `function` of the operands that move, at a `point`, with the `values` there."""

    def __init__(self, eqn: jex.JaxprEqn, operands: Sequence[Value]) -> None:
        self._name = eqn.primitive.name
        self._operands = operands
        self._outputs = bind(eqn, [primal_of(operand) for operand in operands])
        self._moving = [p for p, operand in enumerate(operands) if is_moving(operand)]
        self._inexact = [
            p for p, y in enumerate(self._outputs) if jnp.issubdtype(y.dtype, jnp.inexact)
        ]
        self._bound = partially_bound(eqn, [primal_of(each) for each in operands], self._moving)
        self.point = [primal_of(operands[p]) for p in self._moving]
        self.values = [self._outputs[p] for p in self._inexact]

    def function(self, *arguments: Array) -> list[Any]:
        """The outputs that have derivatives."""
        results = self._bound(*arguments)
        return [results[p] for p in self._inexact]

    def pushed(
        self,
        families: Families,
        expansion: Callable[[Family, Sequence[Series]], list[Series]],
    ) -> list[Value]:
        """All outputs of the equation, given how dense series of the function's arguments become
        series of its values.
        """

        def dense(family: Family, series: Sequence[Series]) -> list[Series]:
            arrays = [
                dense_series(family, series[p], x, self._name)
                for p, x in zip(self._moving, self.point, strict=True)
            ]
            return expansion(family, arrays)

        results: list[Value] = list(self._outputs)
        expanded = expand(families, self._operands, self.values, dense)
        for p, value in zip(self._inexact, expanded, strict=True):
            results[p] = value
        return results

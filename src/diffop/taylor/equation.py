"""Equations of a jaxpr as linear and bilinear maps of the operands that move."""

from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex

from .binding import bind, described, partially_bound
from .primitive import Form, Primitive, of


@final
class LinearMap:
    """The linear part of an equation that is jointly affine in the operands at `chosen`; the others
    stand still.

    - `operands`: the primals of all operands.
    - `outputs`: the primals of the outputs.
    - `memo`: what coefficients of several orders share, by whoever computes it first.
    """

    def __init__(
        self,
        eqn: jex.JaxprEqn,
        operands: Sequence[Any],
        chosen: Sequence[int],
        outputs: Sequence[Any],
    ) -> None:
        self.eqn = eqn
        self.record: Primitive = of(eqn)
        self.params: dict[str, Any] = eqn.params
        self.operands = list(operands)
        self.chosen = tuple(chosen)
        self.outputs = list(outputs)
        self.memo: dict[Any, Any] = {}
        self.function = partially_bound(eqn, operands, self.chosen)

    @property
    def described(self) -> str:
        """The primitive, and the line of the user's program that it is in."""
        return described(self.eqn)

    def primal(self, k: int) -> Any:
        """The primal of the k-th linear operand."""
        return self.operands[self.chosen[k]]

    def at(self, values: Sequence[Any]) -> list[Any]:
        """The map at other linear operands, whose shapes need not be those of the primals."""
        return bind(self.eqn, values)


@final
class BilinearMap:
    """y = B(a, b), with the primals of a, b and (where it is known) y, and y's shape and type; the
    `eqn` where it is one.
    """

    def __init__(
        self,
        form: Form,
        params: dict[str, Any],
        function: Callable[[Any, Any], Any],
        operands: tuple[Any, Any],
        primal: Any = None,
        eqn: jex.JaxprEqn | None = None,
    ) -> None:
        self.form = form
        self.params = params
        self.function = function
        self.operands = operands
        self.primal = primal
        self.output = jax.eval_shape(function, *operands) if primal is None else primal
        self._eqn = eqn

    @property
    def described(self) -> str:
        """The primitive, and the line of the user's program that it is in."""
        return "an inner product" if self._eqn is None else described(self._eqn)

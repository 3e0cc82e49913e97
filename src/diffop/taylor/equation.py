"""Equations of a jaxpr as linear and bilinear maps of the operands that move."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax

from ..coefficients import relations
from ..coefficients.relations import Relation
from ..source import Source
from .binding import bind, described_equation, partially_bound
from .primitive import Form, Primitive, of


@final
class LinearMap:
    """The linear part of an equation that is jointly affine in the operands at `chosen`, with the
    others constant; or another linear `function` of these, of which nothing else is known.

    - `operands`: the primals of all operands.
    - `outputs`: the primals of the outputs of the whole equation. `function` is the linear part
        alone, so `function` of the primals need not be these.
    - `memo`: intermediate results that coefficients of several orders share.
    """

    def __init__(
        self,
        eqn: jex.JaxprEqn,
        operands: Sequence[Any],
        chosen: Sequence[int],
        outputs: Sequence[Any],
        function: Callable[..., list[Any]] | None = None,
    ) -> None:
        self.eqn = eqn
        self.record: Primitive = of(eqn) if function is None else Primitive()
        self.params: dict[str, Any] = eqn.params
        self.operands = list(operands)
        self.chosen = tuple(chosen)
        self.outputs = list(outputs)
        self.memo: dict[Any, Any] = {}
        self.function = function or partially_bound(eqn, operands, self.chosen)

    @property
    def described(self) -> str:
        """The primitive, and its line in the user's program."""
        return described_equation(self.eqn)

    def primal(self, k: int) -> Any:
        """The primal of the k-th linear operand."""
        return self.operands[self.chosen[k]]

    def moves(self, k: int) -> list[Relation] | None:
        """Where the entries of the k-th linear operand go, in each output; None if that is not
        known.
        """
        if self.record.moves is None:
            return None
        if k not in self.memo:
            self.memo[k] = self.record.moves(self, k)
        return self.memo[k]

    def at(self, values: Sequence[Any]) -> list[Any]:
        """The map for other linear operands, whose shapes may differ from those of the primals."""
        return bind(self.eqn, values)


@final
class BilinearMap:
    """y = B(a, b), with the primals of a, b and (if known) y, and y's shape and type; the `eqn` if
    there is one, and the `sources` of a and b if they have any.
    """

    def __init__(
        self,
        form: Form,
        params: dict[str, Any],
        function: Callable[[Any, Any], Any],
        operands: tuple[Any, Any],
        primal: Any = None,
        eqn: jex.JaxprEqn | None = None,
        sources: tuple[Source | None, Source | None] = (None, None),
    ) -> None:
        self.form = form
        self.params = params
        self.function = function
        self.operands = operands
        self.primal = primal
        self.sources = sources
        self.output = jax.eval_shape(function, *operands) if primal is None else primal
        self._eqn = eqn
        self._made: dict[tuple[int, tuple[int, ...]], tuple[Any, Any]] = {}

    @property
    def described(self) -> str:
        """The primitive, and its line in the user's program."""
        return "an inner product" if self._eqn is None else described_equation(self._eqn)

    @functools.cached_property
    def relation(self) -> Relation | None:
        """The relation between the places of a, b and y, if it is known."""
        left, right = map(jnp.shape, self.operands)
        if self.form is Form.ENTRYWISE:
            return relations.entrywise(self.output.shape, (left, right))
        if self.form is Form.DOT:
            return relations.dot(self.params["dimension_numbers"], left, right)
        if self.form is Form.CONVOLUTION:
            return relations.convolution(self.params, left, right, self.output.shape)
        return None

    @property
    def is_square(self) -> bool:
        """Whether a and b are the same, and B is symmetric."""
        if self.sources[0] is None or self.sources[0] != self.sources[1]:
            return False
        return self.form is Form.ENTRYWISE or (
            self.form is Form.DOT and not jnp.ndim(self.output) and _is_inner(self.params)
        )

    def expanded(self, still: Any, axes: tuple[int, ...]) -> Any:
        """A constant operand with axes of size one, made once for coefficients of all orders."""
        found = self._made.get((id(still), axes))
        if found is None:  # kept with the original, so that no other array gets its id
            found = self._made[id(still), axes] = (still, lax.expand_dims(still, axes))
        return found[1]


def _is_inner(params: dict[str, Any]) -> bool:
    """Whether a `dot_general` pairs equal axes."""
    contract, _ = params["dimension_numbers"]
    return tuple(contract[0]) == tuple(contract[1])
